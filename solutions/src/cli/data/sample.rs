//! `canopy data sample`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use canopy_data::{
    Cloud,
    formats::{self, Options},
    sample,
};

use super::table::thousands;

/// Options of `canopy data sample`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
random draws every point with the same chance, and reads files of any size piece by piece; voxel takes one point of
each cube; farthest takes the point farthest from all taken so far, which covers thin tops.

Examples:
  canopy data sample tree.laz small.laz --points 1024
  canopy data sample tree.laz even.ply --points 1024 --method farthest --seed 7
  canopy data sample plot.laz thin.laz --method voxel --edge 0.05")]
pub struct Args {
    /// A point file
    input: PathBuf,
    /// The file to write
    output: PathBuf,
    /// Points to keep
    #[arg(long, value_name = "N", required_unless_present = "edge")]
    points: Option<usize>,
    /// How to choose them; otherwise random, or voxel where --edge is given
    #[arg(long, value_parser = ["random", "voxel", "farthest"])]
    method: Option<String>,
    /// voxel: edge of the cubes, metres, instead of a number of points
    #[arg(long, value_name = "M", conflicts_with = "points")]
    edge: Option<f32>,
    /// Another seed, other points
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Replace the output if it is there
    #[arg(long)]
    force: bool,
}

/// Draws fewer points of a file.
pub fn run(args: &Args) -> Result<()> {
    ensure!(
        args.force || !args.output.exists(),
        "{} is here already; replace it with --force",
        args.output.display()
    );
    ensure!(args.points != Some(0), "--points 0: ask for at least 1");
    let cloud = drawn(args)?;
    formats::write(&args.output, &cloud, &Options::default())?;
    say!(
        "{}: {} points",
        args.output.display(),
        thousands(cloud.len() as u64)
    );
    Ok(())
}

fn drawn(args: &Args) -> Result<Cloud> {
    if let Some(edge) = args.edge {
        let method = args.method.as_deref().unwrap_or("voxel");
        ensure!(
            method == "voxel",
            "--edge belongs to --method voxel, not {method}"
        );
        let cloud = formats::read(&args.input)?;
        return Ok(cloud.select(&sample::voxel(&cloud.xyz, edge, args.seed)?));
    }
    let points = args.points.unwrap_or(1);
    let method = args.method.as_deref().unwrap_or("random");
    if method == "random" {
        return formats::sample(&args.input, points, args.seed);
    }
    let cloud = formats::read(&args.input)?;
    let chosen = match method {
        "farthest" => sample::farthest(&cloud.xyz, points, args.seed)?,
        _ => sample::voxel_to(&cloud.xyz, points, args.seed)?,
    };
    Ok(cloud.select(&chosen))
}
