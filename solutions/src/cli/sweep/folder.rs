//! The folder of a sweep, which its workers share.
//!
//! ```text
//! space.toml         the file of the sweep
//! journal.jsonl      one line per claim and per score
//! trials/0007        the run of a trial, as `canopy train` writes it
//! workers/1.log      what a local worker printed
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

use anyhow::{Context, Result, ensure};
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
    /// Creates the folder, or opens that of the same sweep.
    ///
    /// # Errors
    /// Names the folder if it cannot be created, or if it belongs to a sweep with another file.
    pub fn open(path: &Path, space: &Path) -> Result<Self> {
        let workers = path.join("workers");
        fs::create_dir_all(&workers).with_context(|| format!("{} cannot be created", workers.display()))?;
        let (own, text) = (path.join("space.toml"), fs::read(space)?);
        if !own.exists() {
            atomic::write(&own, &text)?;
        }
        ensure!(
            fs::read(&own)? == text,
            "{} differs from {}, the file of the sweep in this folder: choose another folder with --out",
            space.display(),
            own.display()
        );
        let path = path.to_owned();
        Ok(Self { path })
    }

    /// The run folder of a trial.
    pub fn trial(&self, trial: usize) -> PathBuf {
        self.path.join(format!("trials/{trial:04}"))
    }

    /// The journal, locked until it is closed, and what it says.
    fn journal(&self, sweep: &Sweep) -> Result<(File, State)> {
        let path = self.path.join("journal.jsonl");
        let (mut options, mut text) = (OpenOptions::new(), String::new());
        let file = options.create(true).append(true).read(true).open(&path);
        let read = file.and_then(|mut file| {
            file.lock()?;
            file.read_to_string(&mut text)?;
            Ok(file)
        });
        let file = read.with_context(|| format!("{} cannot be locked and read", path.display()))?;
        // A line that a kill truncated is not an entry.
        let entries = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        Ok((file, State::new(sweep, entries)))
    }

    /// What the journal says now.
    ///
    /// # Errors
    /// Names the journal if it cannot be read.
    pub fn state(&self, sweep: &Sweep) -> Result<State> {
        Ok(self.journal(sweep)?.1)
    }

    /// Adds an entry to the journal.
    ///
    /// # Errors
    /// Names the journal if it cannot be read and written.
    pub fn add(&self, sweep: &Sweep, entry: &Entry) -> Result<()> {
        append(&mut self.journal(sweep)?.0, entry)
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
        let untested = state
            .best()
            .filter(|&best| !self.trial(best).join("report.html").exists());
        match untested {
            _ if new.is_some() || !state.open.is_empty() => Ok(Next::Wait),
            None => Ok(Next::Done),
            Some(best) => match RunFolder::claim(&self.trial(best))? {
                Some(run) => Ok(Next::Test(best, sweep.config(&state.values[best])?, run)),
                None => Ok(Next::Wait),
            },
        }
    }

    /// Before the first claim of a generation: each member of a population that continues with the weights of a better one gets
    /// a copy of its checkpoints. If a kill interrupts this, it is repeated, and nobody trains before.
    fn inherit(&self, sweep: &Sweep, state: &State, generation: usize) -> Result<()> {
        let is_first = generation > 0 && state.rungs[generation - 1].iter().all(|member| !member.promoted);
        let heirs = state.parents.iter().enumerate();
        for (trial, &parent) in heirs.filter(|(trial, parent)| is_first && trial != *parent) {
            let (from, to) = (self.trial(parent), self.trial(trial));
            let config = sweep.config(&state.values[trial])?;
            for file in [RunFolder::LAST, RunFolder::BEST] {
                let mut saved = checkpoint::load(&from.join(file))?;
                saved.progress.config = config.clone();
                saved.progress.seconds = state.trials[trial].as_ref().map_or(0.0, |(_, own)| own.seconds);
                let (model, optimizer) = (Vec::from_iter(saved.model), Vec::from_iter(saved.optimizer));
                checkpoint::save(&to.join(file), &saved.progress, &model, &optimizer)?;
            }
            RunFolder::of_another(&to).write(RunFolder::CONFIG, &toml::to_string_pretty(&config)?)?;
        }
        Ok(())
    }
}

fn append(journal: &mut File, entry: &Entry) -> Result<()> {
    // It begins a line, because a kill may have truncated the entry before it.
    let line = format!("\n{}", serde_json::to_string(entry)?);
    let written = journal
        .write_all(line.as_bytes())
        .and_then(|()| journal.sync_data());
    written.context("the journal of the sweep cannot be appended to")
}
