//! `canopy sweep`: a search for good settings, by workers that share a folder.

mod folder;
mod results;
mod space;
mod state;
mod tpe;
mod worker;

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{
    options::{at_least, number},
    stop,
    table::{show, text},
};
use crate::report;
use folder::Folder;
use results::results;
use space::Sweep;

/// Options of `canopy sweep`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  canopy sweep --example > space.toml        a file with comments, to be changed
  canopy sweep space.toml --workers 2        two processes; the same command continues a sweep that was stopped

Every trial is a run in DIR/trials. Workers share DIR, which needs file locks. A score is the balanced accuracy on the
validation set (of a number, minus the CRPS) at the best epoch so far, in a population at the last. The best trial is
scored on the test set once, at the end.")]
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
    /// Be one of several workers that share DIR, such as the tasks of a Slurm array
    #[arg(long, conflicts_with = "workers")]
    worker: bool,
    /// With --worker: stop when standard input is closed
    #[arg(long, hide = true)]
    tied: bool,
    /// Only write DIR/page.html and print the results so far
    #[arg(long, conflicts_with_all = ["worker", "workers"])]
    page: bool,
    /// Power of a device, from which the energy is estimated
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
    let folder = Folder::open(&out, space, !args.page)?;
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
    let results = results(&sweep, &folder, args.watts, usize::MAX)?;
    let page = report::write_sweep(&folder.path, &results)?;
    show(&results, args.json)?;
    note!("page: {}", page.display());
    if is_done {
        return Ok(ExitCode::SUCCESS);
    }
    note!("stopped; the same command continues the sweep");
    Ok(ExitCode::from(stop::code()))
}

/// Starts a local worker. It stops when its standard input is closed, which also happens if this process dies.
fn start(args: &Args, log: &File, folder: &Folder) -> Result<Child> {
    let threads = (rayon::current_num_threads() / args.workers).max(1).to_string();
    let mut command = Command::new(env::current_exe()?);
    command.args(["--threads", &threads, "sweep", "--worker", "--tied", "--out"]);
    command.arg(&folder.path).arg(folder.path.join("space.toml"));
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    command.stderr(log.try_clone()?);
    command.spawn().context("a worker does not start")
}

/// Rows of the table of trials while a sweep runs.
const ROWS: usize = 12;

/// Starts local workers and shows what they do until they exit. Returns whether the sweep is done; otherwise it was stopped.
fn lead(args: &Args, sweep: &Sweep, folder: &Folder, stop: &AtomicBool) -> Result<bool> {
    let log = folder.path.join("workers.log");
    let file = File::create(&log).with_context(|| format!("{} cannot be written", log.display()))?;
    let workers = (0..args.workers).map(|_| start(args, &file, folder));
    let mut workers: Vec<Child> = workers.collect::<Result<_>>()?;
    let bar = ProgressBar::new_spinner().with_style(ProgressStyle::with_template("{msg}")?);
    let mut is_done = false;
    while !workers.is_empty() {
        thread::sleep(Duration::from_millis(200));
        let is_stopped = stop.load(Ordering::Relaxed);
        if is_stopped {
            // Nothing is drawn over the message that it stops.
            bar.set_draw_target(ProgressDrawTarget::hidden());
            workers.iter_mut().for_each(|worker| worker.stdin = None);
        }
        workers.retain_mut(|worker| {
            let Ok(Some(status)) = worker.try_wait() else {
                return true;
            };
            // A worker that succeeds found nothing left to do, also if one failed.
            is_done |= status.success();
            if !status.success() && !is_stopped {
                let text = fs::read_to_string(&log).unwrap_or_default();
                let error = text.lines().rfind(|line| line.starts_with("error"));
                let error = error.unwrap_or("it was killed");
                bar.suspend(|| note!("a worker ended early: {error}; see {}", log.display()));
            }
            false
        });
        let now = results(sweep, folder, args.watts, ROWS)?;
        bar.set_message(text(&now)?);
    }
    bar.finish_and_clear();
    ensure!(
        is_done || stop.load(Ordering::Relaxed),
        "all workers ended early; once the cause is removed, the same command continues the sweep"
    );
    Ok(is_done)
}
