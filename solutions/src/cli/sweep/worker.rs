//! A worker of a sweep: trains one trial after the other until nothing is left.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{
    folder::{Folder, Next, append},
    space::{Method, Sweep},
    state::{Completed, Entry},
};
use crate::{
    cli::train::inputs,
    profile::monitor::{Log, kilowatt_hours, pause},
    report,
    train::{
        Config, DIVERGED, EpochRow, Outcome, RunFolder, Target, Trainer, checkpoint, metrics::argmax,
        species::Species, summary,
    },
};

/// Sampling interval of a trial's power.
const SAMPLING: Duration = Duration::from_secs(5);

/// Trains until the sweep is done or `stop` is set; a trial that is stopped has a checkpoint then. Returns whether the sweep is
/// done.
///
/// # Errors
/// Names the trial that cannot be trained, or the file that cannot be read or written.
pub fn work(sweep: &Sweep, folder: &Folder, stop: &AtomicBool) -> Result<bool> {
    while !stop.load(Ordering::Relaxed) {
        match folder.next(sweep)? {
            Next::Train(trial, rung, config, run) => {
                let until = sweep.rungs[rung].epochs as usize;
                note!("trial {trial}: training up to epoch {until}");
                let mut trainer = open(config, run).with_context(|| format!("trial {trial}"))?;
                trainer.until = until;
                let result = train(sweep, &mut trainer, stop).with_context(|| format!("trial {trial}"))?;
                // The run is still locked, so that no other worker takes the trial before its result is written.
                if result.is_some() {
                    append(&mut folder.journal(sweep)?.0, &Entry { trial, rung, result })?;
                }
            }
            Next::Test(trial, config, run) => {
                note!("trial {trial} is the best: scoring it on the test set");
                let path = folder.trial(trial);
                let command = format!("canopy train --config {}/{}", path.display(), RunFolder::CONFIG);
                let report = summary::finish(&mut open(config, run)?, &command)?;
                report::write(&path, &report)?;
            }
            Next::Wait => pause(Instant::now() + Duration::from_millis(500), stop),
            Next::Done => return Ok(true),
        }
    }
    Ok(false)
}

/// The run of a trial: from its checkpoint, or new.
fn open(config: Config, run: RunFolder) -> Result<Trainer> {
    let (chosen, data, split) = inputs(&config, None)?;
    run.write(RunFolder::CONFIG, &toml::to_string_pretty(&config)?)?;
    if !run.last().exists() {
        return Trainer::new(config, data, split, chosen, run);
    }
    let mut saved = checkpoint::load(&run.last())?;
    // Its JSON may have rounded a drawn number.
    saved.progress.config = config;
    Trainer::resume(saved, data, split, chosen, run)
}

/// Trains a trial up to its rung. Returns its result, or nothing if it was stopped.
fn train(sweep: &Sweep, trainer: &mut Trainer, stop: &AtomicBool) -> Result<Option<Completed>> {
    let log = trainer.folder.path().join("monitor.csv");
    // Not every machine has devices that can be monitored.
    let monitor = Log::open(&log, true)?.in_background(SAMPLING).ok();
    let trained = trainer.run(stop);
    drop(monitor);
    let mut result = Completed::default();
    match trained {
        Ok(Outcome::Stopped) => return Ok(None),
        Ok(Outcome::Done) => {
            result.score = match sweep.method {
                // A member of a population passes its last weights on, and not its best ones.
                Method::Population => trainer.rows.last().and_then(EpochRow::score),
                _ => trainer.progress.best.map(|(bits, _)| f64::from_bits(bits)),
            };
            result.correct = correct(trainer)?;
        }
        Err(error) if format!("{error:#}").contains(DIVERGED) => note!("{error:#}"),
        Err(error) => return Err(error),
    }
    // Those of its own epochs, also in a population.
    result.seconds = trainer.rows.iter().map(|row| row.seconds).sum();
    // A CPU does not report its power, and a GPU that only waits is not part of the trial.
    result.kilowatt_hours = kilowatt_hours(&log)?.filter(|_| trainer.device.device.is_cuda());
    Ok(Some(result))
}

/// Whether the best weights classify each validation cloud correctly; see [`Completed::correct`].
fn correct(trainer: &mut Trainer) -> Result<String> {
    if trainer.config.target != Target::Species {
        return Ok(String::new());
    }
    trainer.load_best()?;
    let part = trainer.part("validation", &trainer.split.validation);
    let predictions = trainer.predict(&Species(&trainer.data.species), &part, 1, &mut |_| Ok(()))?;
    let pairs = part.records.iter().zip(&predictions);
    let is_correct = pairs.map(|(&record, row)| argmax(row) == part.data.records[record].species);
    Ok(is_correct.map(|yes| if yes { '1' } else { '0' }).collect())
}
