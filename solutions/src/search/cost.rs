//! What a search costs, and how many trials a budget allows.

use super::{Rung, rungs};

// ANCHOR: Cost
/// What a search takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Hours, summed over all devices.
    pub device_hours: f64,
    /// Energy of these devices, kWh.
    pub kilowatt_hours: f64,
}

/// The settings of successive halving, apart from the number of trials; see [`rungs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halving {
    /// Epochs of the first rung.
    pub fewest: u64,
    /// Epochs of a whole trial.
    pub most: u64,
    /// One of `eta` trials is promoted, and trains `eta` times as long.
    pub eta: u64,
}
// ANCHOR_END: Cost

/// The cost of these rungs. A promoted trial continues, so a rung costs only the epochs beyond the rung before it. An epoch takes
/// `seconds`, a trial occupies `devices`, and each device draws `watts`.
pub fn cost(rungs: &[Rung], seconds: f64, devices: usize, watts: f64) -> Cost {
    let (mut before, mut epochs) = (0, 0.0);
    for rung in rungs {
        epochs += rung.trials as f64 * (rung.epochs - before) as f64;
        before = rung.epochs;
    }
    let device_hours = epochs * seconds * devices as f64 / 3600.0;
    Cost {
        device_hours,
        kilowatt_hours: device_hours * watts / 1000.0,
    }
}

/// The greatest number of trials whose rungs take at most `hours` device hours; 0 if not even one trial fits. An epoch takes
/// `seconds`, above 0, and a trial occupies `devices`.
pub fn trials_within(hours: f64, of: &Halving, seconds: f64, devices: usize) -> usize {
    let rungs = |trials| rungs(trials, of.fewest, of.most, of.eta);
    let fits = |&trials: &usize| cost(&rungs(trials), seconds, devices, 0.0).device_hours <= hours;
    // The cost grows with the trials.
    (1..).take_while(fits).count()
}
