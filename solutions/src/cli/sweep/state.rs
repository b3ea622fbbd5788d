//! The folder of a sweep: its journal, its lock, and which trial a free worker trains next.
//!
//! ```text
//! space.toml         the file of the sweep
//! journal.jsonl      one line per claim and per score
//! trials/0007        the run of a trial, as `canopy train` writes it
//! workers/1.log      what a local worker printed
//! ```
//!
//! A worker reads and writes the journal only while it holds the lock `.lock`. It trains a trial only while it holds the lock of
//! the trial's run folder, so a claim without a score whose run is not locked belongs to a worker that died or was stopped.

use std::{
    cmp::Ordering,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use canopy_data::atomic;
use serde::{Deserialize, Serialize};

use super::space::{Method, Sweep};
use crate::{
    search::{Scored, promotion},
    train::RunFolder,
};

/// A line of the journal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Entry {
    pub trial: usize,
    pub rung: usize,
    /// `None` in a claim: a worker begins to train the trial up to the epochs of the rung.
    pub result: Option<Completed>,
}

/// The state of a trial that completed a rung.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Completed {
    /// The best score on the validation set so far, higher is better; `None` if training diverged.
    pub score: Option<f64>,
    /// Wall time of the trial so far, seconds.
    pub seconds: f64,
    /// For each validation cloud `1` if the best weights classify it correctly, otherwise `0`; empty if they predict a number.
    pub correct: String,
}

/// What the journal says.
pub struct State {
    /// The trials that completed each rung, in this order.
    pub rungs: Vec<Vec<Scored>>,
    /// The last rung that each started trial completed, and its result.
    pub trials: Vec<Option<(usize, Completed)>>,
    /// Trial and rung of the claims without a result.
    pub open: Vec<(usize, usize)>,
}

impl State {
    fn add(&mut self, entry: Entry) {
        let Entry { trial, rung, result } = entry;
        self.trials.resize(self.trials.len().max(trial + 1), None);
        let Some(completed) = result else {
            self.open.push((trial, rung));
            let below = rung.checked_sub(1).map(|below| &mut self.rungs[below]);
            let scored = below.and_then(|rung| rung.iter_mut().find(|scored| scored.trial == trial));
            return scored.into_iter().for_each(|scored| scored.promoted = true);
        };
        self.open.retain(|open| *open != (trial, rung));
        self.rungs[rung].push(Scored {
            trial,
            score: completed.score.unwrap_or(f64::NAN),
            promoted: false,
        });
        self.trials[trial] = Some((rung, completed));
    }

    /// The trial and the rung up to which a free worker trains it; `None` if there is nothing to do, or not yet.
    fn next(&self, sweep: &Sweep) -> Option<(usize, usize)> {
        let mut rungs = self.rungs.clone();
        if sweep.method == Method::Halving {
            // A rung promotes when all its trials completed it.
            let of_rungs = rungs.iter_mut().zip(&sweep.rungs);
            let incomplete = of_rungs.filter(|(completed, rung)| completed.len() < rung.trials);
            incomplete.for_each(|(completed, _)| completed.clear());
        }
        let promoted = promotion(&rungs, sweep.halving.eta as usize).map(|(rung, trial)| (trial, rung + 1));
        let started = self.trials.len();
        promoted.or((started < sweep.trials.len()).then_some((started, 0)))
    }

    /// The last score of a trial that was started: `None` if it has none yet, `Some(None)` if it diverged.
    pub fn score(&self, trial: usize) -> Option<Option<f64>> {
        self.trials[trial].as_ref().map(|(_, completed)| completed.score)
    }

    /// The trials that were started, the one with the best score first; of equals, the one that was started first.
    pub fn ranked(&self) -> Vec<usize> {
        let mut ranked: Vec<usize> = (0..self.trials.len()).collect();
        let order = |a, b| self.score(b).partial_cmp(&self.score(a));
        ranked.sort_by(|&a, &b| order(a, b).unwrap_or(Ordering::Equal));
        ranked
    }

    /// The trial with the best score.
    pub fn best(&self) -> Option<usize> {
        let first = self.ranked().first().copied();
        first.filter(|&trial| matches!(self.score(trial), Some(Some(_))))
    }
}

/// What a worker does next.
pub enum Next {
    /// Train a trial up to a rung.
    Train(usize, usize, RunFolder),
    /// Score the best trial on the test set.
    Test(usize, RunFolder),
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
        let path = path.to_owned();
        let folder = Self { path };
        let _lock = folder.lock()?;
        let (own, text) = (folder.path.join("space.toml"), fs::read(space)?);
        match fs::read(&own) {
            Err(e) if e.kind() == ErrorKind::NotFound => atomic::write(&own, &text)?,
            read => ensure!(
                read? == text,
                "{} differs from {}, the file of the sweep in this folder: choose another folder with --out",
                space.display(),
                own.display()
            ),
        }
        Ok(folder)
    }

    /// The run folder of a trial.
    pub fn trial(&self, trial: usize) -> PathBuf {
        self.path.join(format!("trials/{trial:04}"))
    }

    /// The best trial if it was not scored on the test set yet.
    fn untested(&self, state: &State) -> Option<usize> {
        let best = state.best();
        best.filter(|&trial| !self.trial(trial).join("report.html").exists())
    }

    /// Whether nothing is left to train or to test.
    pub fn is_done(&self, sweep: &Sweep, state: &State) -> bool {
        state.open.is_empty() && state.next(sweep).is_none() && self.untested(state).is_none()
    }

    /// The folder's lock, which is released when it is dropped or the process ends.
    fn lock(&self) -> Result<File> {
        let path = self.path.join(".lock");
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true).open(&path);
        let locked = lock.and_then(|lock| lock.lock().map(|()| lock));
        locked.with_context(|| {
            format!(
                "{} cannot be locked: workers need a file system with locks",
                path.display()
            )
        })
    }

    /// The journal, opened to add lines, and what it says. A line that a kill truncated is removed.
    fn journal(&self, sweep: &Sweep) -> Result<(File, State)> {
        let path = self.path.join("journal.jsonl");
        let named = || format!("{} cannot be used", path.display());
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let mut file = options.open(&path).with_context(named)?;
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(named)?;
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        file.set_len(text.len() as u64).with_context(named)?;
        file.seek(SeekFrom::End(0)).with_context(named)?;
        let mut state = State {
            rungs: vec![Vec::new(); sweep.rungs.len()],
            trials: Vec::new(),
            open: Vec::new(),
        };
        for line in text.lines() {
            let entry = serde_json::from_str(line);
            state.add(entry.with_context(|| format!("{}: '{line}' is not an entry", path.display()))?);
        }
        Ok((file, state))
    }

    /// What the journal says now.
    ///
    /// # Errors
    /// Names the journal if it cannot be read, and the line that is damaged.
    pub fn state(&self, sweep: &Sweep) -> Result<State> {
        let _lock = self.lock()?;
        Ok(self.journal(sweep)?.1)
    }

    /// Adds an entry to the journal.
    ///
    /// # Errors
    /// Names the journal if it cannot be read and written.
    pub fn add(&self, sweep: &Sweep, entry: &Entry) -> Result<()> {
        let _lock = self.lock()?;
        append(&mut self.journal(sweep)?.0, entry)
    }

    /// Decides what a free worker does next, and writes its claim.
    ///
    /// # Errors
    /// Names the journal or the run folder that cannot be read and written.
    pub fn next(&self, sweep: &Sweep) -> Result<Next> {
        let _lock = self.lock()?;
        let (mut journal, state) = self.journal(sweep)?;
        for &(trial, rung) in &state.open {
            if let Some(run) = RunFolder::claim(&self.trial(trial))? {
                return Ok(Next::Train(trial, rung, run));
            }
        }
        if let Some((trial, rung)) = state.next(sweep) {
            let run = RunFolder::claim(&self.trial(trial))?
                .context("a program writes to a trial without a claim")?;
            let result = None;
            append(&mut journal, &Entry { trial, rung, result })?;
            return Ok(Next::Train(trial, rung, run));
        }
        Ok(match self.untested(&state) {
            _ if !state.open.is_empty() => Next::Wait,
            None => Next::Done,
            Some(trial) => {
                RunFolder::claim(&self.trial(trial))?.map_or(Next::Wait, |run| Next::Test(trial, run))
            }
        })
    }
}

fn append(journal: &mut File, entry: &Entry) -> Result<()> {
    let line = serde_json::to_string(entry)? + "\n";
    let written = journal
        .write_all(line.as_bytes())
        .and_then(|()| journal.sync_data());
    written.context("the journal of the sweep cannot be appended to")
}
