//! The searches. All but population-based training replay them on recorded scores, so that each trial is trained once.

use anyhow::Result;
use canopy::{
    search::{Halving, Member, Rung, Scored},
    train::short::Forest,
};
use canopy_data::Philox;
use lesson13::Lesson13;
use rayon::prelude::*;

use crate::trials::{EPOCHS, Trial, space};

/// The budget of a search, in epochs.
pub const BUDGET: u64 = 160;
/// Successive halving and ASHA: one of four trials is promoted.
const HALVING: Halving = Halving {
    fewest: 2,
    most: EPOCHS,
    eta: 4,
};
/// Workers that train trials at the same time.
pub const WORKERS: usize = 8;
/// Members of a population, and epochs from one selection to the next.
const MEMBERS: usize = (BUDGET / EPOCHS) as usize;
const SELECT_EVERY: u64 = 4;

/// What a search did.
#[derive(Default)]
pub struct Search {
    /// Epochs of each trial.
    pub epochs: Vec<u64>,
    /// Epochs spent, and the best validation accuracy so far.
    pub found: Vec<(u64, f64)>,
    /// How long it takes with [`WORKERS`] workers, in epochs.
    pub time: u64,
}

impl Search {
    /// Enters that `trial` has been trained up to `epochs` epochs.
    fn enter(&mut self, trial: usize, epochs: u64, score: f64) {
        self.epochs.resize(self.epochs.len().max(trial + 1), 0);
        self.epochs[trial] = epochs;
        // `max` ignores NaN.
        self.found.push((self.spent(), self.best().max(score)));
    }

    pub fn best(&self) -> f64 {
        self.found.last().map_or(f64::NAN, |(_, best)| *best)
    }

    pub fn spent(&self) -> u64 {
        self.epochs.iter().sum()
    }

    /// The epochs that it spent until it found a trial with at least this accuracy.
    pub fn epochs_to(&self, accuracy: f64) -> Option<u64> {
        let reached = self.found.iter().find(|(_, best)| *best >= accuracy);
        reached.map(|(spent, _)| *spent)
    }
}

/// Trains the best trials of a rung in the next one. With one rung, all are trained to its end: grid and random search.
pub fn rung_by_rung(trials: &[Trial], rungs: &[Rung]) -> Search {
    let mut alive: Vec<usize> = (0..trials.len()).collect();
    let (mut search, mut before) = (Search::default(), 0);
    for rung in rungs {
        alive.truncate(rung.trials);
        for &trial in &alive {
            search.enter(trial, rung.epochs, trials[trial].score(rung.epochs));
        }
        search.time += rounds(alive.len()) * (rung.epochs - before);
        before = rung.epochs;
        // NaN becomes the lowest score.
        let score = |trial: &usize| trials[*trial].score(rung.epochs).max(-1.0);
        alive.sort_by(|a, b| score(b).total_cmp(&score(a)));
    }
    search
}

/// The rungs of successive halving with as many trials as [`BUDGET`] allows.
pub fn halving(answer: &Lesson13) -> Vec<Rung> {
    // On one device that takes an hour for an epoch, a budget in hours is one in epochs.
    let trials = (answer.trials_within)(BUDGET as f64, &HALVING, 3600.0, 1);
    (answer.rungs)(trials, HALVING.fewest, HALVING.most, HALVING.eta)
}

/// ASHA: a worker that is free promotes a trial, or else starts one, until [`BUDGET`] is spent.
pub fn asha(answer: &Lesson13, trials: &[Trial]) -> Search {
    let rungs = halving(answer);
    let mut done: Vec<Vec<Scored>> = rungs.iter().map(|_| Vec::new()).collect();
    let (mut search, mut started, mut assigned) = (Search::default(), 0, 0);
    // Time of completion, rung and trial of each job.
    let mut jobs: Vec<(u64, usize, usize)> = Vec::new();
    loop {
        while jobs.len() < WORKERS {
            let promoted = (answer.promotion)(&done, HALVING.eta as usize);
            let (rung, trial, before) = match promoted {
                Some((rung, trial)) => (rung + 1, trial, rungs[rung].epochs),
                None => (0, started, 0),
            };
            let cost = rungs[rung].epochs - before;
            if trial == trials.len() || assigned + cost > BUDGET {
                break;
            }
            assigned += cost;
            jobs.push((search.time + cost, rung, trial));
            match promoted {
                Some((rung, trial)) => done[rung]
                    .iter_mut()
                    .for_each(|scored| scored.promoted |= scored.trial == trial),
                None => started += 1,
            }
        }
        let Some(next) = (0..jobs.len()).min_by_key(|&job| jobs[job].0) else {
            return search;
        };
        let (time, rung, trial) = jobs.remove(next);
        search.time = time;
        let score = trials[trial].score(rungs[rung].epochs);
        search.enter(trial, rungs[rung].epochs, score);
        done[rung].push(Scored {
            trial,
            score,
            promoted: false,
        });
    }
}

/// Population-based training: every few epochs, the worst fifth continues from the best.
pub fn population(answer: &Lesson13, forest: &Forest, seed: u64) -> Result<Search> {
    let space = space();
    // Other trials than those of random search.
    let start = |i| Trial::new(forest, (answer.draw)(&space, seed, 1000 + i));
    let mut members = (0..MEMBERS as u64).map(start).collect::<Result<Vec<_>>>()?;
    let (mut search, mut random) = (Search::default(), Philox::new(seed, 13));
    for epochs in (1..=EPOCHS / SELECT_EVERY).map(|round| round * SELECT_EVERY) {
        let train = |trial: &mut Trial| trial.train(forest, epochs);
        members.par_iter_mut().try_for_each(train)?;
        search.time += rounds(MEMBERS) * SELECT_EVERY;
        let mut scored = Vec::new();
        for (i, trial) in members.iter().enumerate() {
            let (score, values) = (trial.score(epochs), trial.values.clone());
            search.enter(i, epochs, score);
            scored.push(Member { score, values });
        }
        let heirs = (answer.exploit_and_explore)(&scored, &space, 0.2, &mut random);
        for (i, heir) in heirs.into_iter().enumerate().filter(|(i, heir)| heir.from != *i) {
            members[i] = members[heir.from].continue_with(forest, heir.values)?;
        }
    }
    Ok(search)
}

/// How often each worker trains one of so many trials.
fn rounds(trials: usize) -> u64 {
    trials.div_ceil(WORKERS) as u64
}
