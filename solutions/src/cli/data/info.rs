//! `canopy data info`.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};
use canopy_data::{
    Dataset, TreeRecord, formats,
    import::{self, Kind, Options, Plan, Report},
    shard,
};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use super::progress::Progress;
use crate::cli::table::show;

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
    for (i, path) in args.paths.iter().enumerate() {
        match one(path, args.check) {
            Ok(value) if args.json => values.push(value),
            Ok(value) => {
                if i > 0 {
                    say!();
                }
                show(&with_extents(&value), false)?;
            }
            Err(e) => {
                failed += 1;
                note!("error: {e:#}");
                values.push(json!({"path": path, "error": format!("{e:#}")}));
            }
        }
    }
    if args.json {
        say!("{:#}", json!(values));
    }
    ensure!(failed == 0, "{failed} of {} could not be read", args.paths.len());
    Ok(())
}

/// The value with a line for each axis of its bounds.
fn with_extents(value: &Value) -> Value {
    let mut shown = Map::new();
    for (name, field) in value.as_object().into_iter().flatten() {
        match serde_json::from_value::<[[f64; 3]; 2]>(field.clone()) {
            Ok([low, high]) if name == "bounds" => {
                for (i, axis) in ["x", "y", "z"].into_iter().enumerate() {
                    let text = format!("{:.3} to {:.3} ({:.3})", low[i], high[i], high[i] - low[i]);
                    shown.insert(axis.to_owned(), text.into());
                }
            }
            _ => drop(shown.insert(name.clone(), field.clone())),
        }
    }
    shown.into()
}

fn one(path: &Path, check: bool) -> Result<Value> {
    if path.join("dataset.json").is_file() {
        return set(path, &shard::open(path)?);
    }
    match import::detect(path) {
        Err(_) if path.is_file() => file(path, check),
        kind => layout(path, kind?, check),
    }
}

fn file(path: &Path, check: bool) -> Result<Value> {
    let info = formats::info(path, check)?;
    for warning in &info.warnings {
        note!("warning: {}: {warning}", path.display());
    }
    let mut notes = Vec::new();
    if !info.decoded {
        notes.push(NOT_DECODED);
    }
    if info.bounds.is_some_and(|[low, high]| low == high) {
        notes.push("an extent of 0 m: `canopy train` leaves such a cloud out; scan the tree again");
    }
    Ok(
        json!({"path": path, "format": info.format.name(), "version": info.version, "point_format": info.point_format,
        "points": info.count, "bounds": info.bounds, "attributes": info.attributes, "bytes": info.bytes,
        "warnings": info.warnings, "decoded": info.decoded, "notes": notes}),
    )
}

const NOT_DECODED: &str = "the points were not decoded: --check decodes them";
const DEGENERATE: &str =
    "`canopy train` leaves clouds without extent out: remove their files, or scan the trees again";

/// A set of shards. All clouds are decoded.
fn set(path: &Path, data: &Dataset) -> Result<Value> {
    let progress = Progress::new("counting points");
    let look = |i: usize| -> Result<(u64, Option<String>)> {
        progress.one(data.len())?;
        let cloud = data.cloud(i)?;
        Ok((
            cloud.len() as u64,
            cloud.check_extent().err().map(|e| e.to_string()),
        ))
    };
    let found: Result<Vec<_>> = (0..data.len()).into_par_iter().map(look).collect();
    let (mut points, whys): (Vec<u64>, Vec<Option<String>>) = found?.into_iter().unzip();
    drop(progress);
    points.sort_unstable();
    let [least, median, most] = match &points[..] {
        [] => [0; 3],
        points => [points[0], points[points.len() / 2], points[points.len() - 1]],
    };
    let mut degenerate = Vec::new();
    for (record, why) in data.records.iter().zip(whys) {
        if let Some(why) = why {
            degenerate.push(json!({"file": record.source, "why": why}));
        }
    }
    Ok(json!({
        "path": path, "name": data.name, "scans": data.len(), "plots": plots(data.records.iter()),
        "points": {"total": points.iter().sum::<u64>(), "least": least, "median": median, "most": most},
        "digest": data.digest, "decoded": true, "species": species(&data.species, &data.records),
        "notes": degenerate.first().map(|_| DEGENERATE), "degenerate": degenerate
    }))
}

/// A set as downloaded, from its file names and tables; with `--check` its clouds are decoded too.
fn layout(path: &Path, kind: &Kind, check: bool) -> Result<Value> {
    let plan = import::plan(kind, path, &Options::default())?;
    let records: Vec<TreeRecord> = plan.records().cloned().collect();
    let report = check.then(|| decode(&plan)).transpose()?;
    let degenerate = report.as_ref().map(|r| &r.degenerate);
    let mut notes = plan.notes.clone();
    match &report {
        None => notes.push(NOT_DECODED.into()),
        Some(report) if report.degenerate.is_empty() => {}
        Some(_) => notes.push(DEGENERATE.into()),
    }
    Ok(json!({
        "path": path, "kind": kind.name, "scans": records.len(), "plots": plots(records.iter()),
        "points": report.as_ref().map(|r| r.points), "decoded": check, "species": species(&plan.species, &records),
        "notes": notes, "missing": plan.missing, "degenerate": degenerate
    }))
}

/// Decodes all clouds of `plan`.
fn decode(plan: &Plan) -> Result<Report> {
    let progress = Progress::new("decoding");
    import::run(
        plan,
        &Options::default(),
        &mut |_, _| Ok(()),
        &mut |done, total| progress.at(done, total),
    )
}

/// The number of plots.
pub fn plots<'a>(records: impl Iterator<Item = &'a TreeRecord>) -> usize {
    records.map(|r| &r.plot).collect::<HashSet<_>>().len()
}

/// Scans, trees and plots of each species.
fn species(species: &[String], records: &[TreeRecord]) -> Vec<Value> {
    let row = |(s, name): (usize, &String)| {
        let of = || records.iter().filter(|r| r.species == s);
        let trees: HashSet<&String> = of().map(|r| &r.tree).collect();
        json!({"species": name, "scans": of().count(), "trees": trees.len(), "plots": plots(of())})
    };
    species.iter().enumerate().map(row).collect()
}
