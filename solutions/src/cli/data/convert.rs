//! `canopy data convert`.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use canopy_data::{
    formats::{self, Format, Invalid, Options, Reader},
    import, shard,
};
use indicatif::HumanCount;

use super::{
    export,
    progress::{Progress, Stopped, Unit},
};

/// Options of `canopy data convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Files are read and written in pieces, so they may be larger than memory; only safetensors is collected in memory. A folder of point files becomes a \
folder with the same names (`t.las` and `t.laz` become `t.las.ply` and `t.laz.ply`); a folder of shards becomes SPECIES/PLOT/TREE files. Coordinates, intensity, \
class and returns are kept; colour, GPS time and the coordinate system are not. From LAS or LAZ to LAS or \
LAZ, coordinates keep their scale and offset unless --resolution is given.

Examples:
  canopy data convert tree.laz tree.ply
  canopy data convert scans/ as-laz/ --to laz
  canopy data convert stpctls/ trees/ --to las")]
pub struct Args {
    /// A point file, a folder of point files, or a folder of shards
    input: PathBuf,
    /// The file or folder to write
    output: PathBuf,
    /// Output format [default: that of the output's extension; laz for a folder]
    #[arg(long, value_name = "FORMAT", value_parser = ["las", "laz", "ply", "xyz", "safetensors"])]
    to: Option<String>,
    /// Step of the coordinates in LAS and LAZ, metres [default: that of the input, or 0.001]
    #[arg(long, value_name = "M")]
    resolution: Option<f64>,
    /// Write PLY as text
    #[arg(long)]
    ascii: bool,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// Skip files that cannot be read
    #[arg(long)]
    skip_damaged: bool,
    /// Leave out points whose coordinates are not finite
    #[arg(long)]
    drop_invalid: bool,
}

/// Converts files.
pub fn run(args: &Args) -> Result<()> {
    ensure!(
        args.input.exists(),
        "{}: no such file or folder",
        args.input.display()
    );
    let ending = args.to.clone().unwrap_or_else(|| "laz".into());
    let format = args
        .to
        .as_ref()
        .and_then(|e| Format::from_path(Path::new(&format!("x.{e}"))));
    let options = Options {
        format,
        resolution: args.resolution,
        ascii: args.ascii,
        ..Options::default()
    };
    if args.input.is_file() {
        free(&args.output, args.force)?;
        let mut progress = Progress::new("converting", Unit::Things);
        let (points, dropped) = one(args, &args.input, &args.output, &options, &mut |done, total| {
            progress.at(done, total)
        })?;
        progress.clear();
        say!(
            "{}: {} points{}",
            args.output.display(),
            HumanCount(points),
            left_out(dropped)
        );
        return Ok(());
    }
    if args.input.join("dataset.json").is_file() {
        let data = shard::open(&args.input)?;
        let points = export::files(&data, &args.output, &ending, &options)?;
        say!(
            "{}: {} files, {} points",
            args.output.display(),
            data.len(),
            HumanCount(points)
        );
        return Ok(());
    }
    folder(args, &ending, &options)
}

/// Converts one file in pieces. Returns how many points were written and how many were dropped.
fn one(
    args: &Args,
    from: &Path,
    to: &Path,
    options: &Options,
    progress: &mut dyn FnMut(u64, Option<u64>) -> Result<()>,
) -> Result<(u64, u64)> {
    let invalid = match args.drop_invalid {
        true => Invalid::Drop,
        false => Invalid::Error,
    };
    let mut reader = formats::open_with(from, invalid)?;
    let total = Reader::count(&reader);
    let points = formats::convert(&mut reader, to, options, &mut |done| progress(done, total))?;
    for warning in reader.warnings() {
        eprintln!("warning: {}: {warning}", from.display());
    }
    Ok((points, reader.dropped()))
}

fn left_out(dropped: u64) -> String {
    match dropped {
        0 => String::new(),
        n => format!(", {} left out", HumanCount(n)),
    }
}

fn folder(args: &Args, ending: &str, options: &Options) -> Result<()> {
    let mut files = import::point_files(&args.input)?;
    // Tables of labels are not clouds.
    files.retain(|f| !import::is_table(f));
    ensure!(!files.is_empty(), "{}: no point files", args.input.display());
    let pairs = targets(files, args, ending);
    for (_, to) in &pairs {
        free(to, args.force)?;
    }
    let mut progress = Progress::new("converting", Unit::Things);
    let (mut points, mut dropped, mut failed) = (0, 0, Vec::new());
    for (done, (from, to)) in pairs.iter().enumerate() {
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        }
        match one(args, from, to, options, &mut |_, _| {
            progress.at(done as u64, Some(pairs.len() as u64))
        }) {
            Ok((written, left)) => {
                points += written;
                dropped += left;
            }
            Err(e) if e.is::<Stopped>() => return Err(e),
            Err(e) => {
                eprintln!("error: {e:#}");
                failed.push(from);
            }
        }
    }
    progress.clear();
    say!(
        "{}: {} files, {} points{}",
        args.output.display(),
        pairs.len() - failed.len(),
        HumanCount(points),
        left_out(dropped)
    );
    ensure!(
        failed.is_empty() || args.skip_damaged,
        "{} of {} files could not be converted (named above); the others were",
        failed.len(),
        pairs.len()
    );
    Ok(())
}

/// The file that each of `files` becomes. Files that differ in their endings only, such as `t.las` and `t.laz`, keep them:
/// `t.las.ply` and `t.laz.ply`.
fn targets(files: Vec<PathBuf>, args: &Args, ending: &str) -> Vec<(PathBuf, PathBuf)> {
    let bare = |from: &Path| {
        let below = from.strip_prefix(&args.input).unwrap_or(from);
        args.output.join(below).with_extension("")
    };
    let mut count: HashMap<PathBuf, usize> = HashMap::new();
    for from in &files {
        *count.entry(bare(from)).or_default() += 1;
    }
    let target = |from: PathBuf| {
        let mut to = bare(&from).into_os_string();
        if count[Path::new(&to)] > 1 {
            to.push(".");
            to.push(from.extension().unwrap_or_default());
        }
        to.push(".");
        to.push(ending);
        (from, to.into())
    };
    files.into_iter().map(target).collect()
}

fn free(path: &Path, force: bool) -> Result<()> {
    ensure!(
        force || !path.exists(),
        "{} exists already; replace it with --force",
        path.display()
    );
    Ok(())
}
