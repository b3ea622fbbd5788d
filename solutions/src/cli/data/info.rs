//! `canopy data info`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use canopy_data::{
    Dataset, TreeRecord,
    formats::{self, Info},
    import::{self, Damaged, Kind, Options, Plan, Report},
    shard,
};
use indicatif::HumanCount;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::{
    import::{files, warning},
    progress::{Progress, Unit},
    table::Table,
};

/// Up to this many plots and species, a table of species by plots is shown.
const MOST_PLOTS: usize = 40;
const MOST_SPECIES: usize = 12;
/// Clouds that are read between two updates of the progress.
const AT_ONCE: usize = 256;

/// Options of `canopy data info`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Of LAS and LAZ files only the header is read, and of data sets as downloaded only names and tables. --check \
decodes all points and names the clouds without extent; the exit code is 1 if any point cannot be decoded.

Examples:
  canopy data info tree.laz
  canopy data info --check scans/*.laz       decode every point
  canopy data info stpctls
  canopy data info scans/*.las --json")]
pub struct Args {
    /// Point files, folders of shards, data sets as downloaded
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Decode all points
    #[arg(long)]
    check: bool,
    /// Print as JSON: an array with one object per path
    #[arg(long)]
    json: bool,
}

/// Describes files and data sets.
pub fn run(args: &Args) -> Result<()> {
    let mut values = Vec::new();
    let mut failed = 0;
    for path in &args.paths {
        match one(path, args) {
            Ok(value) => values.push(value),
            Err(e) => {
                failed += 1;
                eprintln!("error: {e:#}");
                values.push(json!({"path": path, "error": format!("{e:#}")}));
            }
        }
    }
    if args.json {
        say!("{:#}", json!(values));
    }
    if failed > 0 {
        bail!("{failed} of {} could not be read", args.paths.len());
    }
    Ok(())
}

fn one(path: &Path, args: &Args) -> Result<Value> {
    let quiet = args.json;
    if path.join("dataset.json").is_file() {
        return set(path, &shard::open(path)?, quiet);
    }
    if path.is_file() && import::detect(path).is_err() {
        let info = match args.check {
            true => formats::check(path)?,
            false => formats::info(path)?,
        };
        return file(path, &info, quiet);
    }
    let kind = import::detect(path)?;
    layout(path, kind, args)
}

fn file(path: &Path, info: &Info, quiet: bool) -> Result<Value> {
    if !quiet {
        let version = info.version.as_deref().unwrap_or_default();
        let point_format = info
            .point_format
            .map_or(String::new(), |f| format!(", point format {f}"));
        say!(
            "{}: {} {version}{point_format}",
            path.display(),
            info.format.name()
        );
        say!("  points      {}", HumanCount(info.count));
        if let Some([low, high]) = info.bounds {
            for (a, name) in ["x", "y", "z"].iter().enumerate() {
                say!(
                    "  {name}           {:.3} to {:.3} ({:.3})",
                    low[a],
                    high[a],
                    high[a] - low[a]
                );
            }
        }
        say!("  attributes  {}", info.attributes.join(", "));
        say!("  bytes       {}", HumanCount(info.bytes));
        let decoded = match info.decoded {
            true => "all points",
            false => "no points: the above is from the header; --check decodes them",
        };
        say!("  decoded     {decoded}");
        if info.bounds.is_some_and(|[low, high]| low == high) {
            say!("  extent      0 m: `canopy train` leaves such a cloud out; scan the tree again");
        }
        if let Some(crs) = &info.crs {
            say!("  crs         {crs}");
        }
    }
    for warning in &info.warnings {
        eprintln!("warning: {}: {warning}", path.display());
    }
    Ok(
        json!({"path": path, "format": info.format.name(), "version": info.version,
        "point_format": info.point_format, "points": info.count, "bounds": info.bounds,
        "attributes": info.attributes, "bytes": info.bytes, "crs": info.crs, "warnings": info.warnings, "decoded": info.decoded}),
    )
}

/// A set of shards. All clouds are decoded.
fn set(path: &Path, data: &Dataset, quiet: bool) -> Result<Value> {
    let mut progress = Progress::new("counting points", Unit::Things);
    let mut points: Vec<u64> = Vec::with_capacity(data.len());
    let all: Vec<usize> = (0..data.len()).collect();
    for some in all.chunks(AT_ONCE) {
        let counted: Result<Vec<u64>> = some
            .par_iter()
            .map(|&i| Ok(data.cloud(i)?.len() as u64))
            .collect();
        points.extend(counted?);
        progress.at(points.len() as u64, Some(data.len() as u64))?;
    }
    progress.clear();
    let total: u64 = points.iter().sum();
    let mut value = labels(
        &data.species,
        &data.records,
        !quiet,
        &format!(
            "{}: data set '{}', {} scans, {} points",
            path.display(),
            data.name,
            data.len(),
            HumanCount(total)
        ),
    )?;
    points.sort_unstable();
    let middle = points.get(points.len() / 2).copied().unwrap_or(0);
    let (least, most) = (
        points.first().copied().unwrap_or(0),
        points.last().copied().unwrap_or(0),
    );
    if !quiet {
        say!("points a scan  {least} least, {middle} median, {most} most");
        say!("digest         {}", data.digest);
    }
    let mut without_extent = Vec::new();
    for i in data.degenerate()? {
        let why = data.cloud(i)?.check_extent();
        without_extent.extend(why.err().map(|e| Damaged {
            path: data.records[i].source.clone().into(),
            why: e.to_string(),
        }));
    }
    value["degenerate"] = degenerate(&without_extent, quiet)?;
    value["path"] = json!(path);
    value["name"] = json!(data.name);
    value["points"] = json!({"total": total, "least": least, "median": middle, "most": most});
    value["digest"] = json!(data.digest);
    value["decoded"] = json!(true);
    Ok(value)
}

/// A set as downloaded, from its file names and tables; with `--check` its clouds are decoded too.
fn layout(path: &Path, kind: Kind, args: &Args) -> Result<Value> {
    let quiet = args.json;
    let plan = import::plan(kind, path, &Options::default())?;
    let records: Vec<TreeRecord> = plan.records().cloned().collect();
    let mut value = labels(
        &plan.species,
        &records,
        !quiet,
        &format!("{}: recognised as {kind}, {} trees", path.display(), plan.trees()),
    )?;
    if !quiet {
        for note in &plan.notes {
            say!("note: {note}");
        }
        for d in &plan.missing {
            say!("not readable: {d}");
        }
    }
    let report = match args.check {
        true => Some(decode(&plan)?),
        false => None,
    };
    if !quiet {
        match &report {
            Some(r) => say!("decoded: {} trees, {} points", r.trees, HumanCount(r.points)),
            None => say!(
                "no points were decoded (--check decodes them); for all numbers: canopy data import {kind} {}",
                path.display()
            ),
        }
    }
    value["decoded"] = json!(report.is_some());
    value["degenerate"] = match &report {
        Some(report) => degenerate(&report.degenerate, quiet)?,
        None => Value::Null,
    };
    value["points"] = json!(report.map(|r| r.points));
    value["path"] = json!(path);
    value["kind"] = json!(kind.name());
    value["notes"] = json!(plan.notes);
    value["missing"] = files(&plan.missing);
    Ok(value)
}

/// Clouds without extent, as JSON and printed unless `quiet`.
fn degenerate(clouds: &[Damaged], quiet: bool) -> Result<Value> {
    if !quiet {
        for cloud in clouds {
            say!("{}", warning(cloud));
        }
    }
    Ok(files(clouds))
}

/// Decodes all clouds of `plan`.
fn decode(plan: &Plan) -> Result<Report> {
    let mut progress = Progress::new("decoding", Unit::Things);
    let report = import::run(plan, &Options::default(), &mut |_, _| Ok(()), &mut |p| {
        progress.at(p.done as u64, Some(p.total as u64))
    });
    progress.clear();
    report
}

/// Species, trees and plots of records, as JSON and printed if `print`.
fn labels(species: &[String], records: &[TreeRecord], print: bool, title: &str) -> Result<Value> {
    let mut grid: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut trees = vec![BTreeSet::new(); species.len()];
    let mut scans = vec![0; species.len()];
    for r in records {
        grid.entry(&r.plot).or_insert_with(|| vec![0; species.len()])[r.species] += 1;
        trees[r.species].insert(&r.tree);
        scans[r.species] += 1;
    }
    let plots_of = |s: usize| grid.values().filter(|row| row[s] > 0).count();
    if print {
        say!("{title}, {} plots", grid.len());
        if grid.len() <= MOST_PLOTS && species.len() <= MOST_SPECIES {
            let mut table = Table::new(std::iter::once("plot").chain(species.iter().map(String::as_str)));
            for (plot, row) in &grid {
                table.row(std::iter::once((*plot).to_owned()).chain(row.iter().map(ToString::to_string)));
            }
            table.row(std::iter::once("scans".to_owned()).chain(scans.iter().map(ToString::to_string)));
            table.print()?;
        } else {
            let mut table = Table::new(["species", "scans", "trees", "plots"]);
            for (s, name) in species.iter().enumerate() {
                table.row([
                    name.clone(),
                    scans[s].to_string(),
                    trees[s].len().to_string(),
                    plots_of(s).to_string(),
                ]);
            }
            table.print()?;
        }
    }
    let rows: Vec<Value> = species
        .iter()
        .enumerate()
        .map(|(s, name)| json!({"species": name, "scans": scans[s], "trees": trees[s].len(), "plots": plots_of(s)}))
        .collect();
    Ok(
        json!({"scans": records.len(), "plots": grid.len(), "species": rows,
        "grid": grid.iter().map(|(plot, row)| json!({"plot": plot, "scans": row})).collect::<Vec<_>>()}),
    )
}
