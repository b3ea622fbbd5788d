//! `canopy data grow`.

use std::path::PathBuf;

use anyhow::Result;
use canopy_data::{
    builtin::{self, Config},
    shard,
};

use super::{open, progress::Progress};

/// Options of `canopy data grow`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The same seed gives bit-identical clouds on every machine.

Examples:
  canopy data grow --out forest --trees 84 --points 20000 --seed 5
  canopy data convert forest files --to laz          one file per scan")]
pub struct Args {
    /// Folder of shards to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Number of trees; some are scanned twice
    #[arg(long, value_name = "N", default_value_t = Config::default().trees)]
    trees: usize,
    /// Points per scan
    #[arg(long, value_name = "N", default_value_t = Config::default().points)]
    points: usize,
    /// Seed of the forest
    #[arg(long, value_name = "N", default_value_t = Config::default().seed)]
    seed: u64,
}

/// Grows the forest and writes it.
pub fn run(args: &Args) -> Result<()> {
    let config = Config {
        seed: args.seed,
        trees: args.trees,
        points: args.points,
    };
    let data = open::grown(&config)?;
    let progress = Progress::new("writing");
    let digest = shard::write(&data, builtin::meta(&config), &args.out, &mut |done| {
        progress.at(done, data.len())
    })?;
    drop(progress);
    let (scans, points, digest) = (data.len(), config.points, digest.as_str());
    say!(
        "{}: {scans} scans of {points} points, digest {digest}",
        args.out.display()
    );
    Ok(())
}
