//! Bayesian search: the tree-structured Parzen estimator (Bergstra et al. 2011) of the crate `tpe`.

use rand::{SeedableRng, rngs::StdRng};
use tpe::{TpeOptimizer, parzen_estimator, range};

use super::{space::Sweep, state::State};
use crate::search::{Parameter, Scored, Value, drawn};

/// Trials that are drawn at random first.
const RANDOM: usize = 10;

/// The hyper-parameters of a trial, given those of the completed trials and their scores.
pub fn suggest(sweep: &Sweep, state: &State, trial: usize) -> Vec<(String, Value)> {
    if state.rungs[0].len() < RANDOM {
        return sweep.draw(trial);
    }
    let mut random = StdRng::seed_from_u64(sweep.seed.wrapping_add((trial as u64) << 32));
    // Each parameter by itself, as the number u of its draw.
    let mut u = |parameter: &Parameter| {
        let mut optimizer = TpeOptimizer::new(parzen_estimator(), range(0.0, 1.0).ok()?);
        for Scored { trial, score, .. } in &state.rungs[0] {
            let mut values = state.values[*trial].iter();
            let value = values.find(|(name, _)| *name == parameter.name);
            // NaN: the trial does not have it.
            let u = value.map_or(f64::NAN, |(_, value)| parameter.range.u(value));
            // It minimises, and a trial that diverged has the score NaN.
            let loss = if score.is_nan() { f64::INFINITY } else { -score };
            optimizer.tell(u.clamp(0.0, 1.0f64.next_down()), loss).ok()?;
        }
        optimizer.ask(&mut random).ok()
    };
    drawn(&sweep.parameters, |parameter| u(parameter).unwrap_or(0.5))
}
