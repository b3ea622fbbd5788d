//! `canopy train`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Result, ensure};
use canopy_data::{Dataset, split::Split};

use super::{
    collective::{self, Collective},
    data::open,
    launcher, monitor,
    options::Options,
    profiling::{self, Profiling},
    stop,
};
use crate::{
    device::{self, Chosen},
    parallel::{Place, Processes},
    profile::monitor::Log,
    report,
    train::{
        BUILTIN, Config, Outcome, RunFolder, Target, Trainer, checkpoint, data, free_name,
        ranks::RankFunctions, summary,
    },
};

/// Options of `canopy train`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Settings come from the preset, then the file given with --config, then the command line; the later win.

Examples:
  canopy train
  canopy train --preset full --seed 3 --out runs/full-3
  canopy train --data idtrees/ --species QURU,ACRU --min-points 64 --folds 5 --fold 0
  canopy train --config run.toml --epochs 100
  canopy train --epochs 2 --profile         where does the time go?
  canopy train --precision fp16 --points 128 --width 4
  canopy train --target height --head mixture --categories site,season
  canopy train --ranks 2 --precision fp16 --accumulate 2
  mpirun -n 4 canopy train --out runs/four   four processes, one rank each; also with srun or `canopy launch`
  canopy train --resume runs/quick")]
pub struct Args {
    /// Preset: quick (about a minute on two cores) or full (most accurate) [default: quick]
    #[arg(long, value_name = "NAME", value_parser = ["quick", "full"])]
    preset: Option<String>,
    /// TOML file with settings, named as the options below
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    config: Option<PathBuf>,
    /// Folder of the run [default: a new one in runs/]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Resume the run in this folder, exactly where it stopped
    #[arg(long, value_name = "RUN", conflicts_with = "preset")]
    resume: Option<PathBuf>,
    /// Print the scores as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Log the machine's utilisation to monitor.csv in the run's folder; sampling interval in seconds
    #[arg(long, value_name = "S", value_parser = monitor::interval, help_heading = "Profiling")]
    monitor: Option<Duration>,
    /// What carries the messages between ranks [default: NCCL between GPUs if built with it, otherwise MPI; threads of one
    /// process need neither]
    #[arg(long, value_name = "ENGINE", help_heading = "Ranks")]
    collective: Option<Collective>,
    #[command(flatten)]
    profiling: Profiling,
    #[command(flatten)]
    options: Options,
}

/// Trains, then prints the scores and writes the report page.
pub fn run(args: Args) -> Result<ExitCode> {
    collective::check(args.collective, launcher::place()?.as_ref())?;
    let Some((place, processes)) = launcher::connected()? else {
        return train(&args, None, &mut None);
    };
    let mut processes = Some(processes);
    let trained = train(&args, Some(&place), &mut processes);
    match (trained, processes) {
        (Err(error), Some(processes)) => processes.abort(&format!("{error:#}")),
        (trained, _) => trained,
    }
}

/// Trains in the process at `place`. It disconnects from `processes` when the ranks have ended well.
fn train(args: &Args, place: Option<&Place>, processes: &mut Option<Box<dyn Processes>>) -> Result<ExitCode> {
    let leads = leads(place);
    let stop = if leads { stop::flag()? } else { stop::quiet_flag()? };
    let mut trainer = match &args.resume {
        Some(path) => resume(path, args, place)?,
        None => start(args, place)?,
    };
    if let Some(processes) = processes {
        #[cfg(feature = "nccl")]
        if collective::connect(&mut **processes, args.collective, &trainer.device.device)? && leads {
            note!("gradients are summed by NCCL");
        }
        processes.stop_by(stop.clone());
        trainer.join(&**processes)?;
    }
    if !leads {
        let outcome = trainer.run(&stop)?;
        // The exit code of rank 0 says how the run ended.
        let code = (outcome == Outcome::Stopped).then_some(0);
        processes.take().into_iter().for_each(|own| own.finish(code));
        return Ok(ExitCode::SUCCESS);
    }
    trainer.functions = RankFunctions {
        rank_0_has_stalled: |why| {
            note!("error: {why}");
            std::process::exit(1);
        },
        ..RankFunctions::default()
    };
    let path = trainer.folder.path().display().to_string();
    let folder = trainer.folder.path().to_owned();
    let monitor = match args.monitor {
        Some(interval) => Some(Log::open(&folder.join("monitor.csv"), true)?.in_background(interval)?),
        None => None,
    };
    let recording = args.profiling.start(&trainer.device.device)?;
    let outcome = trainer.run(&stop)?;
    if outcome == Outcome::Stopped {
        note!("stopped; a checkpoint is saved. Resume with\n  canopy train --resume {path}");
    }
    let code = (outcome == Outcome::Stopped).then(stop::code);
    profiling::finish(recording, &folder.join("profile"), &path)?;
    processes.take().into_iter().for_each(|own| own.finish(code));
    drop(monitor);
    if outcome == Outcome::Stopped {
        return Ok(ExitCode::from(stop::code()));
    }
    if let Some(line) = trainer.rank_stats.line() {
        note!("{line}");
    }
    if let Some(memory) = trainer.rank_stats.memory.filter(|_| trainer.config.zero > 0) {
        note!("{}", memory.line());
    }
    let command = format!("canopy train --config {path}/config.toml");
    let report = summary::finish(&mut trainer, &command)?;
    report::write(&folder, &report)?;
    if args.json {
        let scores = match &report.number {
            Some(number) => serde_json::to_string_pretty(&number.scores)?,
            None => serde_json::to_string_pretty(&report.evaluation)?,
        };
        say!("{scores}");
    } else {
        say!("{}", summary::text(&report, &path).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether this process prints and writes.
fn leads(place: Option<&Place>) -> bool {
    place.is_none_or(|place| place.rank == 0)
}

/// The clouds that `config` selects. Warns of those that have no extent, if it should `warn`.
///
/// # Errors
/// Returns an error if the data set cannot be opened, or if nothing of it is selected.
pub fn selected(config: &Config, warn: bool) -> Result<Dataset> {
    let whole = open::any(Path::new(&config.data))?;
    let (usable, degenerate) = whole.with_extent()?;
    let data = data::choose(config, &usable)?;
    if warn {
        open::warn_of_degenerate(&whole, &degenerate, &data.species, config.min_points)?;
    }
    Ok(data)
}

/// The device, the data and the split of a run.
pub fn inputs(config: &Config, place: Option<&Place>) -> Result<(Chosen, Dataset, Split)> {
    config.validate()?;
    let chosen = device::choose(&launcher::device(place, &config.device)?)?;
    let data = selected(config, leads(place))?;
    let split = data::split(config, &data)?;
    Ok((chosen, data, split))
}

fn start(args: &Args, place: Option<&Place>) -> Result<Trainer> {
    let preset = args.preset.as_deref().unwrap_or("quick");
    let file = args.config.as_deref().map(Options::from_file).transpose()?;
    let given = file.unwrap_or_default().and(&args.options);
    // A target has defaults of its own.
    let target = given.over(&Config::preset(preset)?)?.target;
    let mut config = given.over(&Config::preset(preset)?.for_target(target))?;
    config.ranks = launcher::ranks(place, given.ranks(), config.ranks)?;
    let (chosen, data, split) = inputs(&config, place)?;
    let name = match config.data.as_str() {
        BUILTIN => preset.to_owned(),
        _ => format!("{}-{preset}", data.name),
    };
    let path = args
        .out
        .clone()
        .unwrap_or_else(|| free_name(Path::new("runs"), &name));
    if !leads(place) {
        return Trainer::new(config, data, split, chosen, RunFolder::of_another(&path));
    }
    let folder = RunFolder::create(&path)?;
    folder.write("config.toml", &toml::to_string_pretty(&config)?)?;
    introduce(&config, &data, &split, &chosen, &folder);
    let trainer = Trainer::new(config, data, split, chosen, folder)?;
    if let Some(warning) = trainer.category_warning() {
        note!("note: {warning}");
    }
    Ok(trainer)
}

fn resume(path: &Path, args: &Args, place: Option<&Place>) -> Result<Trainer> {
    ensure!(
        args.options.can_resume(),
        "--resume uses the settings of the run, except --ranks, --overlap and --zero: remove the other options, or start a new run"
    );
    let leads = leads(place);
    let folder = match leads {
        true => RunFolder::open(path)?,
        false => RunFolder::of_another(path),
    };
    let mut checkpoint = checkpoint::load(&folder.last())?;
    let config = &mut checkpoint.progress.config;
    *config = args.options.over(config)?;
    config.ranks = launcher::ranks(place, args.options.ranks(), config.ranks)?;
    let (chosen, data, split) = inputs(config, place)?;
    if leads {
        introduce(config, &data, &split, &chosen, &folder);
        let (epoch, batch) = (checkpoint.progress.epoch, checkpoint.progress.batch);
        note!("resuming after {epoch} epochs and {batch} batches");
    }
    Trainer::resume(checkpoint, data, split, chosen, folder)
}

fn introduce(config: &Config, data: &Dataset, split: &Split, chosen: &Chosen, folder: &RunFolder) {
    let most = split.train.len();
    if config.batch > most {
        let batch = config.batch;
        note!("note: --batch {batch} is more than the {most} training clouds, so each step has all of them");
    }
    if config.zero > 0 && config.ranks == 1 {
        note!("note: --zero {} changes nothing with one rank", config.zero);
    }
    let points = config.points;
    let mut line = format!(
        "{} PointNet, {points} points per cloud · {}",
        config.model, chosen.name
    );
    if config.ranks > 1 {
        line += &format!(" · {} ranks", config.ranks);
        if !config.sync_bn {
            line += ", each with its own batch norm";
        }
        if config.zero > 0 {
            line += &format!(" · ZeRO {}", config.zero);
        }
    }
    note!("{line}");
    let [train, validation, test] = split.parts().map(|(_, records)| records.len());
    note!(
        "{}: {} scans of {} species ({train} train, {validation} validation, {test} test)",
        data.name,
        train + validation + test,
        data.species.len()
    );
    if config.target != Target::Species {
        note!(
            "target: {} ({}), predicted by {}; at least {:.0} % of each tree is visible",
            config.target,
            config.target.unit(),
            config.head,
            100.0 * config.visible
        );
    }
    if let Some(reason) = &chosen.reason {
        note!("running on the CPU: {reason}");
    }
    for warning in &split.warnings {
        note!("note: {warning}");
    }
    if let Some(description) = config.precision.description(&chosen.device, config.plain) {
        note!("precision: {description}");
    }
    note!("writing to {}", folder.path().display());
}
