//! `canopy data import`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use canopy_data::{
    import::{self, Columns, Options},
    shard,
};
use serde_json::json;

use super::{progress::Progress, split::by_species};
use crate::cli::table::show;

/// Options of `canopy data import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Kinds:
  idtrees         RemoteSensing/LAS, ITC and Field, as in the IDTReeS 2020 zip
  for-species20k  tree_metadata_dev.csv beside dev/
  stpctls         folders Buche, Douglasie, Eiche, Esche, Fichte, Kiefer, Roteiche
  folder          one sub-folder per species; a further level of sub-folders is the plot
  csv             a table of file and label, with optional columns for plot and tree
  auto            the first of these that matches

Examples:
  canopy data import idtrees IDTREES/ --min-points 64 --species QURU,ACRU,QUAL,PIPA2,QUCO2 --out five
  canopy data import csv trees.csv --label-column art --plot-column flaeche
  canopy data import auto scans/ --skip-damaged")]
pub struct Args {
    /// Layout of the data
    #[arg(value_parser = ["auto", "idtrees", "for-species20k", "stpctls", "folder", "csv"])]
    kind: String,
    /// The data set
    path: PathBuf,
    /// Folder for the shards [default: the data set's name]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only these species, comma-separated [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    species: Vec<String>,
    /// Leave out clouds with fewer points
    #[arg(long, default_value_t = 1, value_name = "N")]
    min_points: usize,
    /// Thin clouds with more points at random [default: keep every point]
    #[arg(long, value_name = "N")]
    max_points: Option<usize>,
    /// Skip files that cannot be read
    #[arg(long)]
    skip_damaged: bool,
    /// idtrees: keep points higher than this above the ground, metres
    #[arg(long, default_value_t = 2.0, value_name = "M")]
    min_height: f32,
    /// csv: column of the file, relative to the table [default: file, filename, path, cloud or file_name]
    #[arg(long, value_name = "NAME")]
    file_column: Option<String>,
    /// csv: column of the species [default: label, species, class, taxon or taxonid]
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// csv: column of the plot [default: plot, site or plotid]
    #[arg(long, value_name = "NAME")]
    plot_column: Option<String>,
    /// csv: column of the tree, if trees have several scans [default: tree, treeid, tree_id or tree_name]
    #[arg(long, value_name = "NAME")]
    tree_column: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Imports a data set into shards.
pub fn run(args: &Args) -> Result<()> {
    let kind = match args.kind.as_str() {
        "auto" => import::detect(&args.path)?,
        name => import::kind(name)?,
    };
    let options = Options {
        species: args.species.clone(),
        min_points: args.min_points,
        max_points: args.max_points,
        skip_damaged: args.skip_damaged,
        min_height: args.min_height,
        columns: Columns {
            file: args.file_column.clone(),
            label: args.label_column.clone(),
            plot: args.plot_column.clone(),
            tree: args.tree_column.clone(),
        },
    };
    let plan = import::plan(kind, &args.path, &options)?;
    let notes = plan.notes.clone();
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(&plan.name));
    let (path, trees) = (args.path.display(), plan.trees());
    note!("{path}: {}, {trees} trees to read", kind.name);
    notes.iter().for_each(|note| note!("  {note}"));
    let progress = Progress::new("importing");
    let (report, digest) = import::to_shards(plan, kind, &options, &out, &mut |done, total| {
        progress.at(done, total)
    })?;
    drop(progress);
    report.damaged.iter().for_each(|d| note!("left out: {d}"));
    report
        .warnings()
        .iter()
        .for_each(|warning| note!("warning: {warning}"));
    report.degenerate.iter().for_each(|d| {
        note!("warning: {d}; `canopy train` leaves it out: remove the file, or scan the tree again")
    });
    let data = shard::open(&out).with_context(|| format!("opening what was written to {}", out.display()))?;
    let all: Vec<usize> = (0..data.len()).collect();
    let species = by_species(&data, &all);
    // As text they were printed before.
    let notes = if args.json { notes } else { Vec::new() };
    let found = json!({"kind": kind.name, "out": out, "trees": report.trees, "points": report.points,
        "species": species, "sparse": report.sparse, "thinned": report.thinned, "damaged": report.damaged,
        "degenerate": report.degenerate, "notes": notes, "digest": digest.as_str()});
    show(&found, args.json)?;
    if !args.json {
        say!("train on it: canopy train --data {}", out.display());
    }
    Ok(())
}
