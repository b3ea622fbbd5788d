//! `canopy data sample`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use canopy_data::{
    Cloud,
    formats::{self, Options},
    sample,
};
use indicatif::HumanCount;

/// Options of `canopy data sample`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
random draws points with equal probability and reads files larger than memory in pieces; voxel keeps one point of \
each cube; farthest repeatedly adds the point farthest from all chosen ones, which covers sparse tops.

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
    /// How to choose them [default: random; voxel with --edge]
    #[arg(long, value_parser = ["random", "voxel", "farthest"])]
    method: Option<String>,
    /// voxel: edge of the cubes in metres, instead of a number of points
    #[arg(long, value_name = "M", conflicts_with = "points")]
    edge: Option<f32>,
    /// Seed of the random choices
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
}

/// Writes a sample of a file's points.
pub fn run(args: &Args) -> Result<()> {
    ensure!(
        args.force || !args.output.exists(),
        "{} exists already; replace it with --force",
        args.output.display()
    );
    ensure!(args.points != Some(0), "--points 0: expected at least 1");
    let cloud = drawn(args)?;
    formats::write(&args.output, &cloud, &Options::default())?;
    say!(
        "{}: {} points",
        args.output.display(),
        HumanCount(cloud.len() as u64)
    );
    Ok(())
}

fn drawn(args: &Args) -> Result<Cloud> {
    if let Some(edge) = args.edge {
        let method = args.method.as_deref().unwrap_or("voxel");
        ensure!(method == "voxel", "--edge is for --method voxel, not {method}");
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
