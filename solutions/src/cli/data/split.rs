//! `canopy data split`.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use canopy_data::{
    Dataset, atomic,
    split::{self, Shares, species_counts},
};
use serde_json::json;

use super::{open, table::Table};
use crate::train::Config;

/// Options of `canopy data split`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
All scans of a plot, and all scans of a tree, are in the same part. `canopy train` makes the same split from the \
same seed, shares and folds, which have the same defaults.

Examples:
  canopy data split builtin
  canopy data split stpctls --folds 5 --seed 3
  canopy data split five --validation 0.2 --test 0.2 --out split.csv")]
pub struct Args {
    /// A data set: shards or as downloaded, or `builtin`
    path: PathBuf,
    /// Seed of the split
    #[arg(long, default_value_t = Config::default().seed, value_name = "N")]
    seed: u64,
    /// Share of the scans for validation
    #[arg(long, default_value_t = Config::default().validation, value_name = "SHARE")]
    validation: f64,
    /// Share of the scans for the test
    #[arg(long, default_value_t = Config::default().test, value_name = "SHARE")]
    test: f64,
    /// Number of folds, instead of parts
    #[arg(long, value_name = "K", conflicts_with_all = ["validation", "test"])]
    folds: Option<usize>,
    /// Only these species, comma-separated [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    species: Vec<String>,
    /// Leave out clouds with fewer points
    #[arg(long, default_value_t = 1, value_name = "N")]
    min_points: usize,
    /// Write a table of scans and their parts
    #[arg(long, value_name = "CSV")]
    out: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

type Part = (String, Vec<usize>);

/// Shows a split.
pub fn run(args: &Args) -> Result<()> {
    let data = open::any(&args.path)?.subset(&args.species, args.min_points)?;
    let (parts, warnings) = parts(args, &data)?;
    for warning in &warnings {
        eprintln!("warning: {warning}");
    }
    open::warn_of_degenerate(&data)?;
    if let Some(out) = &args.out {
        write(&data, &parts, out)?;
    }
    if args.json {
        let parts: serde_json::Map<_, _> = parts
            .iter()
            .map(|(name, records)| {
                let counts = species_counts(&data, records);
                let species: serde_json::Map<_, _> = data
                    .species
                    .iter()
                    .cloned()
                    .zip(counts.iter().map(|&n| json!(n)))
                    .collect();
                let part =
                    json!({"scans": records.len(), "plots": plots(&data, records), "species": species});
                (name.clone(), part)
            })
            .collect();
        say!(
            "{:#}",
            json!({"data": data.name, "digest": data.digest, "seed": args.seed, "parts": parts, "warnings": warnings})
        );
        return Ok(());
    }
    say!("{}: {} scans, seed {}", data.name, data.len(), args.seed);
    let mut table = Table::new(std::iter::once("species").chain(parts.iter().map(|p| p.0.as_str())));
    let counts: Vec<Vec<usize>> = parts.iter().map(|p| species_counts(&data, &p.1)).collect();
    for (s, name) in data.species.iter().enumerate() {
        table.row(std::iter::once(name.clone()).chain(counts.iter().map(|c| c[s].to_string())));
    }
    let row = |title: &str, of: &dyn Fn(&Part) -> usize| {
        std::iter::once(title.to_owned())
            .chain(parts.iter().map(|p| of(p).to_string()))
            .collect::<Vec<_>>()
    };
    table.row(row("scans", &|p| p.1.len()));
    table.row(row("plots", &|p| plots(&data, &p.1).len()));
    table.print()?;
    Ok(())
}

fn parts(args: &Args, data: &Dataset) -> Result<(Vec<Part>, Vec<String>)> {
    let (mut parts, mut warnings) = (Vec::new(), BTreeSet::new());
    if let Some(k) = args.folds {
        for fold in 0..k.max(1) {
            let split = split::folds(data, k, fold, args.seed)?;
            parts.push((format!("fold {fold}"), split.test));
            let of_fold = |w: String| {
                if w.contains("split by tree") {
                    w
                } else {
                    format!("fold {fold}: {w}")
                }
            };
            warnings.extend(split.warnings.into_iter().map(of_fold));
        }
    } else {
        let shares = Shares {
            validation: args.validation,
            test: args.test,
        };
        let split = split::by_plot(data, shares, args.seed)?;
        for (name, records) in split.parts() {
            if !records.is_empty() {
                parts.push((name.to_owned(), records.to_vec()));
            }
        }
        warnings.extend(split.warnings);
    }
    Ok((parts, warnings.into_iter().collect()))
}

fn plots<'a>(data: &'a Dataset, records: &[usize]) -> BTreeSet<&'a str> {
    records.iter().map(|&r| data.records[r].plot.as_str()).collect()
}

fn write(data: &Dataset, parts: &[Part], out: &Path) -> Result<()> {
    let mut rows: Vec<(usize, &str)> = parts
        .iter()
        .flat_map(|(name, records)| records.iter().map(move |&r| (r, name.as_str())))
        .collect();
    rows.sort_unstable();
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(["record", "tree", "plot", "species", "part", "source"])?;
    for (i, part) in rows {
        let r = &data.records[i];
        table.write_record([
            &i.to_string(),
            &r.tree,
            &r.plot,
            &data.species[r.species],
            part,
            &r.source,
        ])?;
    }
    let text = table.into_inner().context("the table")?;
    atomic::write(out, &text)?;
    eprintln!("written: {}", out.display());
    Ok(())
}
