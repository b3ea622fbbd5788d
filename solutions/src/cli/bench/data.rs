//! `canopy bench data`: how fast clouds of each format are read, and how long training waits for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use canopy_data::{Cloud, builtin, formats};
use serde::{Deserialize, Serialize};

use super::median;
use super::peer::run_script;
use super::sampling::{Stored, Thinned, stored, thinned};
use super::waiting::{Batches, Loading, STORED, Training, loading, training, write_set};
use crate::cli::data::progress::{Progress, Unit};
use crate::loader::{Augment, Collate, Features, Frame, Points};

const SCRIPT: &str = include_str!("peer_laspy.py");

/// Options of `canopy bench data`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files to read [default: generated trees in every format]
    files: Vec<PathBuf>,
    /// Points of the generated trees in all
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    points: usize,
    /// Timed readings per file, after an untimed one
    #[arg(long, default_value_t = 3, value_name = "N")]
    repeats: usize,
    /// Training steps over which waiting is measured
    #[arg(long, default_value_t = 30, value_name = "N")]
    steps: usize,
    /// Clouds per batch
    #[arg(long, default_value_t = 32, value_name = "N")]
    batch: usize,
    /// A Python with laspy and lazrs, for comparison on LAS and LAZ
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// Reading one file; times are medians.
#[derive(Debug, Serialize)]
struct Read {
    file: String,
    format: &'static str,
    points: usize,
    bytes: u64,
    seconds: f64,
    points_per_second: f64,
    mb_per_second: f64,
    laspy_seconds: Option<f64>,
    /// laspy's time divided by ours.
    laspy_ratio: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Found {
    bench: &'static str,
    threads: usize,
    read: Vec<Read>,
    thinned: Vec<Thinned>,
    stored: Vec<Stored>,
    clouds: usize,
    points_of_a_cloud: usize,
    loader: Vec<Loading>,
    training: Training,
}

#[derive(Deserialize)]
struct Peer {
    points: usize,
    seconds: Vec<f64>,
}

/// Runs the benchmark and prints its results.
///
/// # Errors
/// Returns an error if a file cannot be read, an option is out of range, or laspy fails (with its message).
pub fn run(args: &Args) -> Result<ExitCode> {
    for (name, value, least) in [
        ("--points", args.points, 1),
        ("--repeats", args.repeats, 1),
        ("--steps", args.steps, 1),
        ("--batch", args.batch, 2),
    ] {
        ensure!(value >= least, "{name} must be at least {least}, it is {value}");
    }
    let found = collect(args)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        print(&found);
    }
    Ok(ExitCode::SUCCESS)
}

fn collect(args: &Args) -> Result<Found> {
    // Deleted when it is dropped.
    let home = tempfile::Builder::new().prefix("canopy-bench-").tempdir()?;
    let mut progress = Progress::new("measuring", Unit::Things);
    progress.at(0, None)?;
    let files = if args.files.is_empty() {
        write_tree(args.points, home.path(), &mut progress)?
    } else {
        args.files.clone()
    };
    let total = (files.len() * (args.repeats + 1)) as u64;
    let mut read = Vec::new();
    for path in &files {
        read.push(read_file(path, args, total, read.len(), &mut progress)?);
    }
    let thinned = thinned(&formats::read(&files[0])?, args.repeats, &mut progress)?;
    let of_format = |path| stored(path, 4 * args.repeats, &mut progress);
    let stored = files
        .iter()
        .map(PathBuf::as_path)
        .map(of_format)
        .collect::<Result<Vec<_>>>()?;
    let data = write_set(home.path(), 4 * args.batch, &mut progress)?;
    let collate = Arc::new(Collate {
        data,
        points: Points::Fixed(1024),
        frame: Frame::Sphere,
        features: Features::Xyz,
        augment: Augment {
            turn: true,
            jitter: 0.01,
            scale: 0.1,
            point_dropout: 0.1,
        },
        seed: 1,
    });
    let batches = Batches {
        steps: args.steps,
        size: args.batch,
    };
    let loader = (1..=4)
        .map(|workers| loading(&collate, workers, batches, &mut progress))
        .collect::<Result<Vec<_>>>()?;
    Ok(Found {
        bench: "data",
        threads: rayon::current_num_threads(),
        read,
        thinned,
        stored,
        clouds: collate.data.len(),
        points_of_a_cloud: STORED,
        loader,
        training: training(&collate, batches, &mut progress)?,
    })
}

/// Writes trees of the built-in forest with `points` points in all in each format.
fn write_tree(points: usize, home: &Path, progress: &mut Progress) -> Result<Vec<PathBuf>> {
    let mut cloud = Cloud::default();
    let mut index = 0;
    while cloud.len() < points {
        let more = builtin::tree(1, index, builtin::Resolution::Full)?;
        if cloud.is_empty() {
            cloud = more;
        } else {
            cloud.xyz.extend(more.xyz);
            cloud.intensity.extend(more.intensity);
            cloud.class.extend(more.class);
            cloud.returns.extend(more.returns);
        }
        index += 1;
        progress.at(cloud.len() as u64, None)?;
    }
    let first: Vec<usize> = (0..points).collect();
    let cloud = cloud.select(&first);
    let mut files = Vec::new();
    for name in ["tree.laz", "tree.las", "tree.xyz", "tree.ply", "tree.safetensors"] {
        let path = home.join(name);
        formats::write(&path, &cloud, &formats::Options::default())?;
        files.push(path);
        progress.at(files.len() as u64, None)?;
    }
    Ok(files)
}

fn read_file(path: &Path, args: &Args, total: u64, done: usize, progress: &mut Progress) -> Result<Read> {
    let format = formats::Format::from_path(path).map_or("other", formats::Format::name);
    let las = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("las") || e.eq_ignore_ascii_case("laz"));
    let python = args.python.as_deref().filter(|_| las);
    let (mut ours, mut theirs, mut points) = (Vec::new(), Vec::new(), 0);
    for turn in 0..=args.repeats {
        let start = Instant::now();
        points = formats::read(path)?.len();
        let seconds = start.elapsed().as_secs_f64();
        if turn > 0 {
            ours.push(seconds);
            if let Some(python) = python {
                // An untimed reading, as ours has, and a timed one.
                let arguments = [path.as_os_str(), "1".as_ref()];
                let peer: Peer = run_script(python, SCRIPT, arguments, "laspy and lazrs")?;
                ensure!(
                    peer.points == points,
                    "{}: laspy reads {} points, we {points}",
                    path.display(),
                    peer.points
                );
                theirs.extend(peer.seconds);
            }
        }
        progress.at((done * (args.repeats + 1) + turn + 1) as u64, Some(total))?;
    }
    let bytes = fs::metadata(path)?.len();
    let seconds = median(&ours);
    let laspy_seconds = (!theirs.is_empty()).then(|| median(&theirs));
    Ok(Read {
        file: path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        format,
        points,
        bytes,
        seconds,
        points_per_second: points as f64 / seconds,
        mb_per_second: bytes as f64 / 1e6 / seconds,
        laspy_seconds,
        laspy_ratio: laspy_seconds.map(|s| s / seconds),
    })
}

fn print(found: &Found) {
    println!("bench data: {} threads\n", found.threads);
    println!("file                          points        MB      points/s     MB/s     times laspy");
    for r in &found.read {
        let ratio = r.laspy_ratio.map_or("–".to_owned(), |x| format!("{x:.2}"));
        println!(
            "{:<24}{:>12}{:>10.1}{:>14.0}{:>9.1}{ratio:>16}",
            r.file,
            r.points,
            r.bytes as f64 / 1e6,
            r.points_per_second,
            r.mb_per_second
        );
    }
    println!("\nthinned to 1,024 points, one thread");
    for t in &found.thinned {
        println!("{:<9?}{:>12} points{:>10.3} s", t.method, t.points, t.seconds);
    }
    println!(
        "\nloader, a whole file a cloud, {} workers",
        found.stored.first().map_or(0, |s| s.workers)
    );
    for s in &found.stored {
        println!("{:<24}{:>10.1} clouds/s", s.file, s.clouds_per_second);
    }
    println!(
        "\nloader, from shards of {} points a cloud",
        found.points_of_a_cloud
    );
    for l in &found.loader {
        println!("{} workers {:>10.0} clouds/s", l.workers, l.clouds_per_second);
    }
    let t = &found.training;
    println!(
        "\ntraining vanilla, {} workers: {:.1} ms a step, {:.2}% of the time waiting for batches",
        t.workers,
        t.step_ms,
        100.0 * t.waited_share
    );
}
