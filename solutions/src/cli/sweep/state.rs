//! What the journal of a sweep says, and which trial a free worker trains next.

use canopy_data::Philox;
use serde::{Deserialize, Serialize};

use super::{
    space::{Method, Sweep},
    tpe::suggest,
};
use crate::search::{Member, Scored, Value, exploit_and_explore, promotion};

/// An entry of the journal.
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
    /// The best score on the validation set so far, in a population the last one; higher is better. `None` if training diverged.
    pub score: Option<f64>,
    /// Wall time of the trial's epochs so far, seconds.
    pub seconds: f64,
    /// Energy of the GPUs that the trial's worker saw, in its training so far; `None` if none reports its power.
    pub kilowatt_hours: Option<f64>,
    /// For each validation cloud `1` if the best weights classify it correctly, otherwise `0`; empty if they predict a number.
    pub correct: String,
}

/// What the journal says.
#[derive(Default)]
pub struct State {
    /// The trials that completed each rung, in this order.
    pub rungs: Vec<Vec<Scored>>,
    /// The last result of each started trial.
    pub trials: Vec<Option<Completed>>,
    /// Trial and rung of the claims without a result.
    pub open: Vec<(usize, usize)>,
    /// The hyper-parameters of every trial; of a member of a population, in the current generation.
    pub values: Vec<Vec<(String, Value)>>,
    /// The member whose weights each member of a population begins the current generation with; empty in the first one.
    pub parents: Vec<usize>,
}

impl State {
    /// The state before the first entry.
    pub fn new(sweep: &Sweep) -> Self {
        let trials = 0..sweep.rungs[0].trials;
        Self {
            rungs: vec![Vec::new(); sweep.rungs.len()],
            values: trials.map(|trial| sweep.draw(trial)).collect(),
            ..Self::default()
        }
    }

    pub fn add(&mut self, sweep: &Sweep, entry: Entry) {
        let Entry { trial, rung, result } = entry;
        self.trials.resize(self.trials.len().max(trial + 1), None);
        let Some(completed) = result else {
            self.open.push((trial, rung));
            if sweep.method == Method::Tpe {
                self.values[trial] = suggest(sweep, self, trial);
            }
            let below = self.rungs[..rung].last_mut().into_iter().flatten();
            let promoted = below.filter(|scored| scored.trial == trial);
            return promoted.for_each(|scored| scored.promoted = true);
        };
        self.open.retain(|open| *open != (trial, rung));
        let score = completed.score.unwrap_or(f64::NAN);
        self.rungs[rung].push(Scored {
            trial,
            score,
            promoted: false,
        });
        self.trials[trial] = Some(completed);
        let is_complete = self.rungs[rung].len() == sweep.rungs[rung].trials;
        if sweep.method == Method::Population && is_complete && rung + 1 < sweep.rungs.len() {
            self.next_generation(sweep, rung as u64);
        }
    }

    /// Decides with which weights and hyper-parameters the members of a population continue after a generation.
    fn next_generation(&mut self, sweep: &Sweep, generation: u64) {
        let member = |(trial, values): (usize, &Vec<_>)| Member {
            score: self.score(trial).unwrap_or(f64::NAN),
            values: values.clone(),
        };
        let members: Vec<Member> = self.values.iter().enumerate().map(member).collect();
        // The draws of the trials have the numbers from 0 up.
        let mut random = Philox::new(sweep.seed, u64::MAX - generation);
        // With the next number, the product of the share and the number of members is not rounded below a whole number.
        let share = (1.0 / sweep.eta as f64).next_up();
        let heirs = exploit_and_explore(&members, &sweep.parameters, share, &mut random);
        self.parents = (0..members.len()).collect();
        for (trial, heir) in heirs.into_iter().enumerate() {
            // If nearly all diverged, there is nothing to copy.
            if !members[heir.from].score.is_nan() {
                (self.parents[trial], self.values[trial]) = (heir.from, heir.values);
            }
        }
    }

    /// The trial and the rung up to which a free worker trains it; `None` if there is nothing to do, or not yet.
    pub fn next(&self, sweep: &Sweep) -> Option<(usize, usize)> {
        let mut rungs = self.rungs.clone();
        if matches!(sweep.method, Method::Halving | Method::Population) {
            // A rung promotes when all its trials completed it.
            let of_rungs = rungs.iter_mut().zip(&sweep.rungs);
            let incomplete = of_rungs.filter(|(completed, rung)| completed.len() < rung.trials);
            incomplete.for_each(|(completed, _)| completed.clear());
        }
        let eta = match sweep.method {
            // Every member continues.
            Method::Population => 1,
            _ => sweep.eta as usize,
        };
        let promoted = promotion(&rungs, eta).map(|(rung, trial)| (trial, rung + 1));
        let started = self.trials.len();
        promoted.or((started < self.values.len()).then_some((started, 0)))
    }

    /// The last score of a trial that was started; `None` if it has none yet, or if it diverged.
    pub fn score(&self, trial: usize) -> Option<f64> {
        self.trials[trial].as_ref()?.score
    }

    /// The trials that were started, the one with the best score first; of equals, the one that was started first.
    pub fn ranked(&self) -> Vec<usize> {
        let mut ranked: Vec<usize> = (0..self.trials.len()).collect();
        let score = |trial| self.score(trial).unwrap_or(f64::NEG_INFINITY);
        ranked.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
        ranked
    }

    /// The trial with the best score.
    pub fn best(&self) -> Option<usize> {
        let mut ranked = self.ranked().into_iter();
        ranked.find(|&trial| self.score(trial).is_some())
    }
}
