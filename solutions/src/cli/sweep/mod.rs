//! `canopy sweep`: a search for good settings, by workers that share a folder.

mod folder;
mod results;
mod space;
mod state;
mod tpe;
mod worker;

use std::{
    env,
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    options::{at_least, number},
    stop,
    table::{show, text},
};
use crate::{report, search::Range};
use folder::Folder;
use space::Sweep;

/// Options of `canopy sweep`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  canopy sweep --example > space.toml        a file with comments, to be changed
  canopy sweep space.toml --workers 2        two processes; the same command continues a sweep that was stopped
  canopy sweep space.toml --page             where is it? writes DIR/page.html and trains nothing
  srun canopy sweep space.toml --worker      a worker in a task of a Slurm array

Every trial is a run in DIR/trials. Workers share DIR, which needs file locks. The best trial is scored on the test set
once, at the end.")]
pub struct Args {
    /// TOML file with the method, the settings of all trials, and the space of the others
    #[arg(value_name = "SPACE.toml", required_unless_present = "example")]
    space: Option<PathBuf>,
    /// Folder of the sweep [default: runs/ and the name of the file]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Train with N processes on this machine, which share its cores
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least(1))]
    workers: usize,
    /// Be one of several workers of the sweep, which share DIR
    #[arg(long, conflicts_with = "workers")]
    worker: bool,
    /// With --worker: stop when standard input is closed
    #[arg(long, hide = true)]
    tied: bool,
    /// Only write DIR/page.html and print the results so far
    #[arg(long, conflicts_with_all = ["worker", "workers"])]
    page: bool,
    /// Power of a device, for the energy if no GPU reports its own
    #[arg(long, value_name = "W", value_parser = number(0.0, 1e6))]
    watts: Option<f64>,
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Print an example of SPACE.toml
    #[arg(long)]
    example: bool,
}

/// Runs a sweep or one worker of it, or prints its results so far.
pub fn run(args: &Args) -> Result<ExitCode> {
    let Some(space) = args.space.as_deref().filter(|_| !args.example) else {
        say!("{}", include_str!("example.toml").trim_end());
        return Ok(ExitCode::SUCCESS);
    };
    let sweep = Sweep::open(space)?;
    let name = space.file_stem().unwrap_or(space.as_os_str());
    let out = args.out.clone().unwrap_or_else(|| Path::new("runs").join(name));
    let folder = Folder::open(&out, space)?;
    let stop = stop::flag()?;
    if args.tied {
        let stop = stop.clone();
        thread::spawn(move || {
            // Ends when the process that started this worker closes its end, or dies.
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            stop.store(true, Ordering::Relaxed);
        });
    }
    let is_done = match (args.page, args.worker) {
        (true, _) => true,
        (false, true) => worker::work(&sweep, &folder, &stop)?,
        (false, false) => lead(args, &sweep, &folder, &stop)?,
    };
    let state = folder.state(&sweep)?;
    let results = results::results(&sweep, &folder, &state, args.watts)?;
    let logarithmic = sweep
        .parameters
        .iter()
        .filter(|p| matches!(p.range, Range::Log { .. }));
    let logarithmic: Vec<&str> = logarithmic.map(|parameter| &*parameter.name).collect();
    report::write_sweep(&folder.path, &results, &logarithmic)?;
    show(&results, args.json)?;
    if is_done {
        return Ok(ExitCode::SUCCESS);
    }
    note!("stopped; the same command continues the sweep");
    Ok(ExitCode::from(stop::code()))
}

/// Starts a local worker with its log. It stops when its standard input is closed, which also happens if this process dies.
fn start(args: &Args, log: &Path, folder: &Folder) -> Result<Child> {
    let file = OpenOptions::new().create(true).append(true).open(log);
    let file = file.with_context(|| format!("{} cannot be appended to", log.display()))?;
    let threads = (rayon::current_num_threads() / args.workers).max(1).to_string();
    let mut command = Command::new(env::current_exe()?);
    command.args(["--threads", &threads, "sweep", "--worker", "--tied", "--out"]);
    command.arg(&folder.path).arg(folder.path.join("space.toml"));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(file);
    command.spawn().context("a worker does not start")
}

/// Rows of the table of trials while a sweep runs.
const ROWS: usize = 12;

/// Starts local workers and shows what they do until they exit. Returns whether the sweep is done; otherwise it was stopped.
fn lead(args: &Args, sweep: &Sweep, folder: &Folder, stop: &AtomicBool) -> Result<bool> {
    let mut workers = Vec::new();
    for n in 1..=args.workers {
        let log = folder.path.join(format!("workers/{n}.log"));
        workers.push((start(args, &log, folder)?, log));
    }
    let bar = ProgressBar::new_spinner().with_style(ProgressStyle::with_template("{msg}")?);
    let (mut is_done, mut failed) = (false, None);
    while !workers.is_empty() {
        thread::sleep(Duration::from_millis(200));
        if stop.load(Ordering::Relaxed) {
            workers
                .iter_mut()
                .for_each(|(worker, _)| drop(worker.stdin.take()));
        }
        workers.retain_mut(|(worker, log)| {
            let Ok(Some(status)) = worker.try_wait() else {
                return true;
            };
            // A worker that succeeds found nothing left to do, also if another one failed.
            match status.success() {
                true => is_done = true,
                false => failed = Some(log.clone()),
            }
            false
        });
        let now = results::overview(sweep, folder, &folder.state(sweep)?, ROWS)?;
        bar.set_message(text(&now)?);
    }
    bar.finish_and_clear();
    match failed {
        Some(log) if !is_done && !stop.load(Ordering::Relaxed) => {
            let text = fs::read_to_string(&log).unwrap_or_default();
            let last = text.lines().last().unwrap_or_default();
            bail!(
                "a worker ended early, and {} ends with: {last}; the same command continues the sweep",
                log.display()
            )
        }
        _ => Ok(is_done),
    }
}
