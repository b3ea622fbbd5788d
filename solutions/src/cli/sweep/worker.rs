//! A worker of a sweep: trains one trial after the other until nothing is left.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{
    space::Sweep,
    state::{Completed, Entry, Folder, Next},
};
use crate::{
    cli::train::inputs,
    profile::monitor::pause,
    report,
    train::{
        DIVERGED, Outcome, RunFolder, Target, Trainer, checkpoint, metrics::argmax, species::Species, summary,
    },
};

/// How often an idle worker looks for a trial.
const IDLE: Duration = Duration::from_millis(500);

/// Trains until the sweep is done or `stop` is set; a trial that is stopped has a checkpoint then. Returns whether the sweep is
/// done.
///
/// # Errors
/// Names the trial that cannot be trained, or the file that cannot be read or written.
pub fn work(sweep: &Sweep, folder: &Folder, stop: &AtomicBool) -> Result<bool> {
    while !stop.load(Ordering::Relaxed) {
        match folder.next(sweep)? {
            Next::Train(trial, rung, run) => {
                note!("trial {trial}: training up to epoch {}", sweep.rungs[rung].epochs);
                let trained = train(sweep, folder, (trial, rung), run, stop);
                trained.with_context(|| format!("trial {trial}"))?;
            }
            Next::Test(trial, run) => {
                note!("trial {trial} is the best: scoring it on the test set");
                let mut trainer = open(sweep, trial, run)?;
                let path = folder.trial(trial);
                let command = format!("canopy train --config {}/{}", path.display(), RunFolder::CONFIG);
                let report = summary::finish(&mut trainer, &command)?;
                report::write(&path, &report)?;
            }
            Next::Wait => pause(Instant::now() + IDLE, stop),
            Next::Done => return Ok(true),
        }
    }
    Ok(false)
}

/// The run of a trial: from its checkpoint, or new.
fn open(sweep: &Sweep, trial: usize, run: RunFolder) -> Result<Trainer> {
    let config = &sweep.trials[trial].1;
    let (chosen, data, split) = inputs(config, None)?;
    if !run.last().exists() {
        run.write(RunFolder::CONFIG, &toml::to_string_pretty(config)?)?;
        return Trainer::new(config.clone(), data, split, chosen, run);
    }
    let mut saved = checkpoint::load(&run.last())?;
    // Its JSON may have rounded a drawn number.
    saved.progress.config = config.clone();
    Trainer::resume(saved, data, split, chosen, run)
}

/// Trains a trial up to a rung, and writes the result into the journal.
fn train(
    sweep: &Sweep,
    folder: &Folder,
    (trial, rung): (usize, usize),
    run: RunFolder,
    stop: &AtomicBool,
) -> Result<()> {
    let mut trainer = open(sweep, trial, run)?;
    trainer.until = sweep.rungs[rung].epochs as usize;
    let mut result = Completed::default();
    match trainer.run(stop) {
        Ok(Outcome::Stopped) => return Ok(()),
        Ok(Outcome::Done) => {
            let best = trainer
                .progress
                .best
                .context("it has no score: the validation set is empty")?;
            result.score = Some(f64::from_bits(best.0));
            result.correct = correct(&mut trainer)?;
        }
        Err(error) if format!("{error:#}").contains(DIVERGED) => note!("trial {trial}: {error:#}"),
        Err(error) => return Err(error),
    }
    result.seconds = trainer.progress.seconds;
    // The run's folder is still locked, so that no other worker takes the trial before its result is written.
    let result = Some(result);
    folder.add(sweep, &Entry { trial, rung, result })
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
