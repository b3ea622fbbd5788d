//! `canopy data convert`.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use canopy_data::{
    atomic,
    formats::{self, Format, Loaded, Options},
    import,
};
use indicatif::HumanCount;

use super::{export, open, progress::Progress};

/// Options of `canopy data convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A folder of point files becomes a \
folder with the same names (`t.las` and `t.laz` become `t.las.xyz` and `t.laz.xyz`); \
a folder of shards becomes SPECIES/PLOT/TREE files. Coordinates, intensity, \
class and returns are kept; colour, GPS time and the coordinate system are not. From LAS or LAZ to LAS or \
LAZ, coordinates keep their scale and offset unless --resolution is given.

Examples:
  canopy data convert tree.laz tree.xyz
  canopy data convert scans/ as-laz/ --to laz
  canopy data convert stpctls/ trees/ --to las")]
pub struct Args {
    /// A point file, a folder of point files, or a folder of shards
    input: PathBuf,
    /// The file or folder to write
    output: PathBuf,
    /// Output format [default: that of the output's extension; laz for a folder]
    #[arg(long, value_name = "FORMAT", value_parser = ["las", "laz", "xyz"])]
    to: Option<String>,
    /// Step of the coordinates in LAS and LAZ, metres [default: that of the input, or 0.001]
    #[arg(long, value_name = "M")]
    resolution: Option<f64>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// Skip files that cannot be read
    #[arg(long)]
    skip_damaged: bool,
}

/// Converts files.
pub fn run(args: &Args) -> Result<()> {
    let (input, output) = (&args.input, &args.output);
    let ending = args.to.as_deref().unwrap_or("laz");
    let format = args
        .to
        .as_ref()
        .and_then(|e| Format::from_path(Path::new(&format!("x.{e}"))));
    let options = Options {
        format,
        resolution: args.resolution,
        ..Options::default()
    };
    if input.join("dataset.json").is_file() {
        return export::files(&open::any(input)?, output, ending, &options);
    }
    ensure!(input.exists(), "{}: no such file or folder", input.display());
    let is_folder = input.is_dir();
    let pairs = match is_folder {
        true => targets(args, ending)?,
        false => vec![(input.clone(), output.clone())],
    };
    for (_, to) in &pairs {
        ensure!(
            args.force || !to.exists(),
            "{} exists already; replace it with --force",
            to.display()
        );
    }
    let progress = Progress::new("converting");
    let (mut points, mut failed) = (0, 0);
    for (i, (from, to)) in pairs.iter().enumerate() {
        progress.at(i, pairs.len())?;
        match one(from, to, &options) {
            Ok(written) => points += written,
            Err(e) if !is_folder => return Err(e),
            Err(e) => {
                note!("error: {e:#}");
                failed += 1;
            }
        }
    }
    drop(progress);
    let mut line = format!("{}: ", output.display());
    if is_folder {
        line += &format!("{} files, ", pairs.len() - failed);
    }
    say!("{line}{} points", HumanCount(points));
    ensure!(
        failed == 0 || args.skip_damaged,
        "{failed} of {} files could not be converted (named above); the others were",
        pairs.len()
    );
    Ok(())
}

/// Converts one file. Returns how many points were written.
fn one(from: &Path, to: &Path, options: &Options) -> Result<u64> {
    let Loaded {
        cloud,
        grid,
        warnings,
    } = formats::load(from)?;
    let parent = atomic::parent(to);
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    formats::write(to, &cloud, &Options { grid, ..*options })?;
    for warning in warnings {
        note!("warning: {}: {warning}", from.display());
    }
    Ok(cloud.len() as u64)
}

/// The point files of the input's folder, and the files that they become. Files that differ in their endings only, such as
/// `t.las` and `t.laz`, keep them: `t.las.xyz` and `t.laz.xyz`.
fn targets(args: &Args, ending: &str) -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut files = import::point_files(&args.input)?;
    // Tables of labels are not clouds.
    files.retain(|f| !import::is_table(f));
    ensure!(!files.is_empty(), "{}: no point files", args.input.display());
    let bare = |from: &Path| {
        let below = from.strip_prefix(&args.input).unwrap_or(from);
        args.output.join(below).with_extension("")
    };
    let mut count: HashMap<PathBuf, usize> = HashMap::new();
    for from in &files {
        *count.entry(bare(from)).or_default() += 1;
    }
    let target = |from: PathBuf| {
        let to = bare(&from);
        let kept = from.extension().filter(|_| count[&to] > 1);
        let kept = kept.map_or(String::new(), |e| format!(".{}", e.display()));
        let mut to = to.into_os_string();
        to.push(format!("{kept}.{ending}"));
        (from, to.into())
    };
    Ok(files.into_iter().map(target).collect())
}
