//! `canopy data convert`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use canopy_data::{
    formats::{self, Format, Options},
    import, shard,
};

use super::{
    export,
    progress::{Progress, Unit},
    table::thousands,
};

/// Options of `canopy data convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A file is read and written piece by piece, so it may be larger than memory. A folder of point files becomes
a folder with the same names; a folder of shards becomes SPECIES/PLOT/TREE files. Kept of a point are its
place, intensity, class and returns; colour, GPS time and the coordinate system are not.

Examples:
  canopy data convert tree.laz tree.ply
  canopy data convert scans/ as-laz/ --to laz
  canopy data convert stpctls/ trees/ --to las")]
pub struct Args {
    /// A point file, a folder of such, or a folder of shards
    input: PathBuf,
    /// The file or folder to write
    output: PathBuf,
    /// Format: las, laz, ply, xyz or canopy; otherwise as the output's name says, laz for a folder
    #[arg(long, value_parser = ["las", "laz", "ply", "xyz", "canopy"])]
    to: Option<String>,
    /// Step of the coordinates in LAS and LAZ, metres
    #[arg(long, default_value_t = 0.001, value_name = "M")]
    resolution: f64,
    /// Write PLY as text
    #[arg(long)]
    ascii: bool,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
    /// Go on past files that cannot be read
    #[arg(long)]
    skip_damaged: bool,
}

/// Converts files.
pub fn run(args: &Args) -> Result<()> {
    ensure!(
        args.input.exists(),
        "{}: there is nothing here",
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
    };
    if args.input.is_file() {
        free(&args.output, args.force)?;
        let points = one(&args.input, &args.output, &options)?;
        say!("{}: {} points", args.output.display(), thousands(points));
        return Ok(());
    }
    if args.input.join("dataset.json").is_file() {
        let data = shard::open(&args.input)?;
        let points = export::files(&data, &args.output, &ending, &options)?;
        say!(
            "{}: {} files, {} points",
            args.output.display(),
            data.len(),
            thousands(points)
        );
        return Ok(());
    }
    folder(args, &ending, &options)
}

/// One file, piece by piece, with a progress in points: it may be larger than memory.
fn one(from: &Path, to: &Path, options: &Options) -> Result<u64> {
    let mut progress = Progress::new("converting", Unit::Things);
    let mut writer = formats::Writer::create(to, options)?;
    let reader = formats::open(from)?;
    let (mut points, total) = (0, formats::Reader::count(&reader));
    for chunk in reader {
        let chunk = chunk?;
        writer.write(&chunk)?;
        points += chunk.len() as u64;
        progress.at(points, total)?;
    }
    writer.finish()
}

fn folder(args: &Args, ending: &str, options: &Options) -> Result<()> {
    let mut files = import::point_files(&args.input)?;
    // A table of labels is no cloud.
    files.retain(|f| !import::is_table(f));
    ensure!(!files.is_empty(), "{}: no point files here", args.input.display());
    let mut pairs = Vec::with_capacity(files.len());
    for from in files {
        let to = args
            .output
            .join(from.strip_prefix(&args.input).unwrap_or(&from))
            .with_extension(ending);
        if pairs.iter().any(|(_, other)| *other == to) {
            bail!("two files would become {}: convert them one by one", to.display());
        }
        free(&to, args.force)?;
        pairs.push((from, to));
    }
    let mut progress = Progress::new("converting", Unit::Things);
    let (mut points, mut failed) = (0, Vec::new());
    for (done, (from, to)) in pairs.iter().enumerate() {
        progress.at(done as u64, Some(pairs.len() as u64))?;
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        match formats::convert(from, to, options) {
            Ok(n) => points += n,
            Err(e) => {
                eprintln!("error: {e:#}");
                failed.push(from);
            }
        }
    }
    progress.clear();
    say!(
        "{}: {} files, {} points",
        args.output.display(),
        pairs.len() - failed.len(),
        thousands(points)
    );
    ensure!(
        failed.is_empty() || args.skip_damaged,
        "{} of {} files could not be converted, named above; the others were",
        failed.len(),
        pairs.len()
    );
    Ok(())
}

fn free(path: &Path, force: bool) -> Result<()> {
    ensure!(
        force || !path.exists(),
        "{} is here already; replace it with --force",
        path.display()
    );
    Ok(())
}
