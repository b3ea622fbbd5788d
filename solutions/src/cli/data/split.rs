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
use serde_json::{Map, Value, json};

use super::{info::plots, open};
use crate::{
    cli::table::{Table, show},
    train::Config,
};

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
    let whole = open::any(&args.path)?;
    let (usable, degenerate) = whole.with_extent()?;
    let data = usable.subset(&args.species, args.min_points)?;
    let (parts, warnings) = parts(args, &data)?;
    for warning in &warnings {
        note!("warning: {warning}");
    }
    open::warn_of_degenerate(&whole, &degenerate, &data.species, args.min_points)?;
    if let Some(out) = &args.out {
        write(&data, &parts, out)?;
    }
    let plots_of = |records: &[usize]| plots(records.iter().map(|&r| &data.records[r]));
    if args.json {
        let part = |(name, records): &Part| {
            json!({"part": name, "scans": records.len(), "plots": plots_of(records),
                "species": by_species(&data, records)})
        };
        let parts: Vec<Value> = parts.iter().map(part).collect();
        return show(
            &json!({"data": data.name, "digest": data.digest, "seed": args.seed, "parts": parts, "warnings": warnings}),
            true,
        );
    }
    say!("{}: {} scans, seed {}", data.name, data.len(), args.seed);
    let mut table = Table::new("species", parts.iter().map(|p| &p.0));
    let counts: Vec<Vec<usize>> = parts.iter().map(|p| species_counts(&data, &p.1)).collect();
    for (s, name) in data.species.iter().enumerate() {
        table.row(name, counts.iter().map(|c| c[s]));
    }
    table.row("scans", parts.iter().map(|p| p.1.len()));
    table.row("plots", parts.iter().map(|p| plots_of(&p.1)));
    table.print()
}

/// The number of scans of each species, by its name.
pub fn by_species(data: &Dataset, records: &[usize]) -> Map<String, Value> {
    let counts = species_counts(data, records).into_iter().map(|n| json!(n));
    data.species.iter().cloned().zip(counts).collect()
}

fn parts(args: &Args, data: &Dataset) -> Result<(Vec<Part>, BTreeSet<String>)> {
    let Some(k) = args.folds else {
        let shares = Shares {
            validation: args.validation,
            test: args.test,
        };
        let split = split::by_plot(data, shares, args.seed)?;
        let parts = split
            .parts()
            .into_iter()
            .filter(|(_, records)| !records.is_empty());
        let parts = parts.map(|(name, records)| (name.to_owned(), records.to_vec()));
        return Ok((parts.collect(), split.warnings.iter().cloned().collect()));
    };
    let (mut parts, mut warnings) = (Vec::new(), BTreeSet::new());
    for fold in 0..k.max(1) {
        let split = split::folds(data, k, fold, args.seed)?;
        parts.push((format!("fold {fold}"), split.test));
        // The same in every fold.
        let of_all = |w: &String| w.contains("split by tree");
        warnings.extend(split.warnings.into_iter().map(|w| match of_all(&w) {
            true => w,
            false => format!("fold {fold}: {w}"),
        }));
    }
    Ok((parts, warnings))
}

fn write(data: &Dataset, parts: &[Part], out: &Path) -> Result<()> {
    let of = |(name, records): &'_ Part| records.iter().map(|&r| (r, name.clone())).collect::<Vec<_>>();
    let mut rows: Vec<(usize, String)> = parts.iter().flat_map(of).collect();
    rows.sort_unstable();
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(["record", "tree", "plot", "species", "part", "source"])?;
    for (i, part) in &rows {
        let r = &data.records[*i];
        let species = &data.species[r.species];
        table.write_record([&i.to_string(), &r.tree, &r.plot, species, part, &r.source])?;
    }
    let text = table.into_inner().context("the table")?;
    atomic::write(out, &text)?;
    note!("written: {}", out.display());
    Ok(())
}
