//! `canopy data grow`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use canopy_data::{builtin, formats, shard};
use indicatif::HumanCount;

use super::{
    export, open,
    progress::{Progress, Unit},
};

/// Options of `canopy data grow`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The same seed gives bit-identical clouds on every machine.

Examples:
  canopy data grow --out forest
  canopy data grow --out laz --format laz --trees 84 --points 20000 --seed 5")]
pub struct Args {
    /// Folder to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Number of trees; some are scanned twice [default: 840]
    #[arg(long, value_name = "N")]
    trees: Option<usize>,
    /// Points per scan [default: 2048]
    #[arg(long, value_name = "N")]
    points: Option<usize>,
    /// Seed of the forest [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Shards, or one file per scan
    #[arg(long, default_value = "shards", value_parser = ["shards", "las", "laz", "ply", "xyz"])]
    format: String,
}

/// Grows the forest and writes it.
pub fn run(args: &Args) -> Result<()> {
    let usual = builtin::Config::default();
    let config = builtin::Config {
        seed: args.seed.unwrap_or(usual.seed),
        trees: args.trees.unwrap_or(usual.trees),
        points: args.points.unwrap_or(usual.points),
    };
    let data = open::grown(&config)?;
    ensure!(!data.is_empty(), "the forest of {config:?} is empty");
    if args.format != "shards" {
        let points = export::files(&data, &args.out, &args.format, &formats::Options::default())?;
        say!(
            "{}: {} files, {} points",
            args.out.display(),
            data.len(),
            HumanCount(points)
        );
        return Ok(());
    }
    let mut progress = Progress::new("writing", Unit::Things);
    let digest = shard::write(&data, builtin::meta(&config), &args.out, &mut |done| {
        progress.at(done as u64, Some(data.len() as u64))
    })?;
    progress.clear();
    say!(
        "{}: {} scans of {} points, digest {}",
        args.out.display(),
        data.len(),
        config.points,
        digest.as_str()
    );
    Ok(())
}
