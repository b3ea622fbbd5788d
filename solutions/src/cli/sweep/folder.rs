//! The folder of a sweep, which its workers share.
//!
//! ```text
//! space.toml         the file of the sweep
//! journal.jsonl      one line per claim and per score
//! trials/0007        the run of a trial, as `canopy train` writes it
//! workers.log        what the local workers printed
//! page.html          the page of the sweep
//! ```
//!
//! A worker reads and writes the journal only while it holds the journal's lock. It trains a trial only while it holds the lock of
//! the trial's run folder, so a claim without a score whose run is not locked belongs to a worker that died or was stopped.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use canopy_data::atomic;

use super::{
    space::Sweep,
    state::{Entry, State},
};
use crate::train::{Config, RunFolder, checkpoint};

/// What a worker does next. It alone may write to the run that it gets.
pub enum Next {
    /// Train a trial up to a rung.
    Train(usize, usize, Config, RunFolder),
    /// Score the best trial on the test set.
    Test(usize, Config, RunFolder),
    /// Wait until another worker has completed its trial.
    Wait,
    /// The sweep is done.
    Done,
}

/// The folder of a sweep.
pub struct Folder {
    pub path: PathBuf,
}

impl Folder {
    /// Opens the folder of a sweep; creates it if it is `new`.
    ///
    /// # Errors
    /// Names the folder if it cannot be created, or if it belongs to no sweep or to one with another file.
    pub fn open(path: &Path, space: &Path, new: bool) -> Result<Self> {
        let (own, text) = (path.join("space.toml"), fs::read(space)?);
        if new && !own.exists() {
            fs::create_dir_all(path).with_context(|| format!("{} cannot be created", path.display()))?;
            atomic::write(&own, &text)?;
        }
        let found = fs::read(&own).with_context(|| format!("{} has no sweep", path.display()))?;
        ensure!(
            found == text,
            "{} differs from {}, the file of the sweep in this folder: choose another folder with --out",
            space.display(),
            own.display()
        );
        Ok(Self { path: path.into() })
    }

    /// The run folder of a trial.
    pub fn trial(&self, trial: usize) -> PathBuf {
        self.path.join(format!("trials/{trial:04}"))
    }

    /// The journal, locked until it is closed, and what it says.
    ///
    /// # Errors
    /// Names the journal if it cannot be read, and the line that is no entry.
    pub fn journal(&self, sweep: &Sweep) -> Result<(File, State)> {
        let path = self.path.join("journal.jsonl");
        let (mut options, mut text) = (OpenOptions::new(), String::new());
        let file = options.create(true).append(true).read(true).open(&path);
        let read = file.and_then(|mut file| {
            file.lock()?;
            file.read_to_string(&mut text)?;
            Ok(file)
        });
        let file = read.with_context(|| format!("{} cannot be locked and read", path.display()))?;
        let (named, mut state) = (path.display(), State::new(sweep));
        for (number, line) in (1..).zip(text.lines()) {
            match serde_json::from_str::<Entry>(line) {
                Ok(of) if of.trial < sweep.trials && of.rung < sweep.rungs.len() => state.add(sweep, of),
                // A kill or a full disk truncated the line.
                Err(error) if error.is_eof() => {}
                _ => bail!("{named} line {number} is no entry: {line}; restore it or change --out"),
            }
        }
        Ok((file, state))
    }

    /// Decides what a free worker does next, and writes its claim.
    ///
    /// # Errors
    /// Names the journal or the run folder that cannot be read and written.
    pub fn next(&self, sweep: &Sweep) -> Result<Next> {
        let (mut journal, mut state) = self.journal(sweep)?;
        let new = state.next(sweep);
        for (trial, rung) in state.open.clone().into_iter().chain(new) {
            // Not those that a worker trains, or whose score it has just written.
            let Some(run) = RunFolder::claim(&self.trial(trial))? else {
                continue;
            };
            if new == Some((trial, rung)) {
                self.inherit(sweep, &state, rung)?;
                let result = None;
                let claim = Entry { trial, rung, result };
                append(&mut journal, &claim)?;
                // It decides the hyper-parameters of a Bayesian search.
                state.add(sweep, claim);
            }
            let config = sweep.config(&state.values[trial])?;
            return Ok(Next::Train(trial, rung, config, run));
        }
        if new.is_some() || !state.open.is_empty() {
            return Ok(Next::Wait);
        }
        let is_untested = |best: &usize| !self.trial(*best).join("report.html").exists();
        let Some(best) = state.best().filter(is_untested) else {
            return Ok(Next::Done);
        };
        let config = sweep.config(&state.values[best])?;
        let run = RunFolder::claim(&self.trial(best))?;
        Ok(run.map_or(Next::Wait, |run| Next::Test(best, config, run)))
    }

    /// Before the first claim of a generation: each member of a population that continues with the weights of a better one gets
    /// a copy of its checkpoints. If a kill interrupts this, it is repeated, and nobody trains before.
    fn inherit(&self, sweep: &Sweep, state: &State, generation: usize) -> Result<()> {
        let is_first = generation > 0 && state.rungs[generation - 1].iter().all(|member| !member.promoted);
        let heirs = state.parents.iter().enumerate();
        for (trial, &parent) in heirs.filter(|(trial, parent)| is_first && trial != *parent) {
            let config = sweep.config(&state.values[trial])?;
            for file in [RunFolder::LAST, RunFolder::BEST] {
                let mut saved = checkpoint::load(&self.trial(parent).join(file))?;
                saved.progress.config = config.clone();
                let (model, optimizer) = (Vec::from_iter(saved.model), Vec::from_iter(saved.optimizer));
                checkpoint::save(&self.trial(trial).join(file), &saved.progress, &model, &optimizer)?;
            }
        }
        Ok(())
    }
}

/// Adds an entry to the locked journal.
///
/// # Errors
/// Returns an error if the journal cannot be written.
pub fn append(journal: &mut File, entry: &Entry) -> Result<()> {
    // It begins a line, because a kill may have truncated the entry before it.
    let line = format!("\n{}", serde_json::to_string(entry)?);
    let written = journal.write_all(line.as_bytes());
    let synced = written.and_then(|()| journal.sync_data());
    synced.context("the journal of the sweep cannot be appended to")
}
