//! `canopy sweep`: a search for good settings, by workers that share a folder.

mod results;
mod space;
mod state;
mod worker;

use std::{
    env,
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    sync::atomic::Ordering,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::{
    options::{at_least, number},
    stop,
    table::{show, text},
};
use crate::search::{cost, trials_within};
use space::Sweep;
use state::Folder;

/// Options of `canopy sweep`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  canopy sweep --example > space.toml        a file with comments, to be changed
  canopy sweep space.toml --plan 2           what does it cost if an epoch takes 2 s?
  canopy sweep space.toml --workers 2        two processes; the same command continues a sweep that was stopped
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
    /// Print the results as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Only print what the sweep costs if an epoch takes S seconds
    #[arg(long, value_name = "S", value_parser = number(1e-6, 1e6))]
    plan: Option<f64>,
    /// With --plan: a budget in device hours
    #[arg(long, value_name = "H", value_parser = number(0.0, 1e6), default_value_t = 1.0)]
    hours: f64,
    /// With --plan: power of a device
    #[arg(long, value_name = "W", value_parser = number(0.0, 1e6), default_value_t = 0.0)]
    watts: f64,
    /// Print an example of SPACE.toml
    #[arg(long)]
    example: bool,
}

/// Runs a sweep, or one worker of it, or prints what it would cost.
pub fn run(args: &Args) -> Result<ExitCode> {
    let Some(space) = args.space.as_deref().filter(|_| !args.example) else {
        say!("{}", include_str!("example.toml").trim_end());
        return Ok(ExitCode::SUCCESS);
    };
    let sweep = Sweep::open(space)?;
    if let Some(seconds) = args.plan {
        let cost = cost(&sweep.rungs, seconds, 1, args.watts);
        let plan = json!({
            "rungs": sweep.rungs,
            "device_hours": cost.device_hours,
            "kilowatt_hours": cost.kilowatt_hours,
            "hours": args.hours,
            "trials_within_hours": trials_within(args.hours, &sweep.halving, seconds, 1),
        });
        return show(&plan, args.json).map(|()| ExitCode::SUCCESS);
    }
    let name = space.file_stem().unwrap_or(space.as_os_str());
    let out = args.out.clone().unwrap_or_else(|| Path::new("runs").join(name));
    let folder = Folder::open(&out, space)?;
    if !args.worker {
        return lead(args, &sweep, &folder, space);
    }
    let stop = if args.tied {
        stop::quiet_flag()?
    } else {
        stop::flag()?
    };
    if args.tied {
        let stop = stop.clone();
        thread::spawn(move || {
            // Ends when the process that started this worker closes its end, or dies.
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            stop.store(true, Ordering::Relaxed);
        });
    }
    Ok(match worker::work(&sweep, &folder, &stop)? {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(stop::code()),
    })
}

/// Starts a local worker with its log. It stops when its standard input is closed, which also happens if this process dies.
fn start(args: &Args, log: &Path, folder: &Folder, space: &Path) -> Result<Child> {
    let file = OpenOptions::new().create(true).append(true).open(log);
    let file = file.with_context(|| format!("{} cannot be appended to", log.display()))?;
    let threads = (rayon::current_num_threads() / args.workers).max(1).to_string();
    let mut command = Command::new(env::current_exe()?);
    command.args(["--threads", &threads, "sweep", "--worker", "--tied", "--out"]);
    command.arg(&folder.path).arg(space);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(file);
    command.spawn().context("a worker does not start")
}

/// Rows of the table of trials while a sweep runs.
const ROWS: usize = 12;

/// Starts local workers, shows what they do until they exit, and prints the results.
fn lead(args: &Args, sweep: &Sweep, folder: &Folder, space: &Path) -> Result<ExitCode> {
    let stop = stop::flag()?;
    let mut workers = Vec::new();
    for n in 1..=args.workers {
        let log = folder.path.join(format!("workers/{n}.log"));
        workers.push((start(args, &log, folder, space)?, log));
    }
    let bar = ProgressBar::new_spinner().with_style(ProgressStyle::with_template("{msg}")?);
    let (mut failure, mut completed) = (None, 0);
    while !workers.is_empty() {
        thread::sleep(Duration::from_millis(200));
        let stopping = stop.load(Ordering::Relaxed);
        workers.retain_mut(|(worker, log)| {
            if stopping {
                drop(worker.stdin.take());
            }
            let Ok(Some(status)) = worker.try_wait() else {
                return true;
            };
            if !status.success() {
                let text = fs::read_to_string(&*log).unwrap_or_default();
                let last = text.lines().last().unwrap_or_default();
                failure = Some(format!(
                    "a worker ended early, and {} ends with: {last}",
                    log.display()
                ));
            }
            false
        });
        let state = folder.state(sweep)?;
        let now = results::overview(sweep, folder, &state, ROWS);
        bar.set_message(text(&now)?);
        let before = completed;
        completed = state.rungs.iter().map(Vec::len).sum();
        if bar.is_hidden() && completed > before {
            note!(
                "{} started, {completed} scores, {} epochs",
                now["started"],
                now["epochs"]
            );
        }
    }
    bar.finish_and_clear();
    let state = folder.state(sweep)?;
    match (folder.is_done(sweep, &state), failure) {
        (false, _) if stop.load(Ordering::Relaxed) => {
            note!("stopped; the same command continues the sweep");
            return Ok(ExitCode::from(stop::code()));
        }
        (false, failure) => bail!(
            "{}; the same command continues the sweep",
            failure.unwrap_or_default()
        ),
        (true, Some(failure)) => note!("note: {failure}"),
        (true, None) => {}
    }
    show(&results::results(sweep, folder, &state)?, args.json)?;
    Ok(ExitCode::SUCCESS)
}
