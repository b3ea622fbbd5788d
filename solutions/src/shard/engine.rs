//! The engine: accumulation, loss scaling, clipping and sharding behind two calls, `backward` and `step`.

use anyhow::{Result, ensure};

use super::{
    gradients::reduce_gradients,
    optimizer::{Update, check_lengths, update_own_part},
};
use crate::{parallel::Collective, precision::LossScale};

/// Added to the norm when gradients are clipped, as in PyTorch.
const EPS: f64 = 1e-6;

// ANCHOR: EngineState
/// What an engine keeps from call to call.
pub struct EngineState {
    /// Micro-batches of a step, at least 1.
    pub accumulation: usize,
    /// Micro-batches whose gradients were added since the last step.
    pub micro_batches: usize,
    /// Sum of their gradients divided by `accumulation`; empty if there are none.
    pub gradients: Vec<f32>,
    /// The loss scale: the gradients belong to loss × `scaler.scale()`.
    pub scaler: Box<dyn LossScale>,
    /// Maximum norm of the mean gradients of all parameters; 0: they are not clipped.
    pub clip: f64,
}

/// The outcome of [`engine_step`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// Micro-batches are missing.
    Accumulating,
    /// A gradient was infinite or NaN on some rank: the parameters are unchanged.
    Skipped,
    /// The optimizer stepped.
    Taken {
        /// Norm of the mean gradients of all parameters before they were clipped.
        norm: f64,
    },
}
// ANCHOR_END: EngineState

impl EngineState {
    /// Creates the state before the first step.
    ///
    /// # Errors
    /// Returns an error if `accumulation` is 0 or `clip` is negative or NaN.
    pub fn new(accumulation: usize, scaler: Box<dyn LossScale>, clip: f64) -> Result<Self> {
        ensure!(
            accumulation > 0,
            "engine: a step has 0 micro-batches; it needs at least 1"
        );
        ensure!(
            clip >= 0.0,
            "engine: the maximum norm is {clip}; it must be at least 0"
        );
        Ok(Self {
            accumulation,
            micro_batches: 0,
            gradients: Vec::new(),
            scaler,
            clip,
        })
    }
}

/// Adds the gradients of one micro-batch, divided by `accumulation`. They are those of all parameters on this rank, still
/// multiplied by the loss scale. Nothing is sent.
///
/// # Errors
/// Returns an error if the step has all its micro-batches already, or if the micro-batches before had another number of
/// gradients.
pub fn engine_backward(state: &mut EngineState, gradients: &[f32]) -> Result<()> {
    ensure!(
        state.micro_batches < state.accumulation,
        "engine: the step has its {} micro-batches already; call step",
        state.accumulation
    );
    if state.micro_batches == 0 {
        state.gradients = vec![0.0; gradients.len()];
    }
    ensure!(
        state.gradients.len() == gradients.len(),
        "engine: this micro-batch has {} gradients, the ones before had {}",
        gradients.len(),
        state.gradients.len()
    );
    let share = 1.0 / state.accumulation as f32;
    for (sum, g) in state.gradients.iter_mut().zip(gradients) {
        *sum += g * share;
    }
    state.micro_batches += 1;
    Ok(())
}

/// Ends a micro-batch. Between the steps it does nothing. After the last micro-batch of a step it takes a step of ZeRO's stage 2
/// on `params`, which are equal on all ranks before and after it.
///
/// Each rank reduces the gradients to its own chunk of their mean and divides it by the loss scale. An overflow may be in one
/// rank's chunk only, and the norm is that of all chunks: one all-reduce tells both to every rank. If a gradient is not
/// finite, no rank steps; otherwise each clips its chunk by the norm, calls `update` for it, and the parameters are
/// gathered. Either way the gradients are freed and the scale is updated.
///
/// # Errors
/// Returns an error if there are not as many gradients as parameters, a collective fails, `update` does, or the scale cannot be
/// reduced.
pub fn engine_step(
    state: &mut EngineState,
    collective: &dyn Collective,
    params: &mut [f32],
    update: &mut Update,
) -> Result<Outcome> {
    if state.micro_batches < state.accumulation {
        return Ok(Outcome::Accumulating);
    }
    check_lengths(params, state.gradients.len())?;
    state.micro_batches = 0;
    let mut own = reduce_gradients(collective, std::mem::take(&mut state.gradients))?;
    let unscale = (1.0 / state.scaler.scale()) as f32;
    own.iter_mut().for_each(|g| *g *= unscale);
    // It is not finite if any of the gradients is not.
    let mut squares = [own.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>() as f32];
    collective.all_reduce(&mut squares)?;
    let norm = f64::from(squares[0]).sqrt();
    let found_inf = !norm.is_finite();
    if !found_inf {
        let factor = state.clip / (norm + EPS);
        if state.clip > 0.0 && factor < 1.0 {
            own.iter_mut().for_each(|g| *g *= factor as f32);
        }
        update_own_part(collective, params, &own, update)?;
    }
    state.scaler.update(found_inf)?;
    Ok(match found_inf {
        true => Outcome::Skipped,
        false => Outcome::Taken { norm },
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        parallel::{ring_all_reduce, threads},
        precision::DynamicScaler,
    };

    /// Finite on each rank, and infinite in their sum.
    #[test]
    fn an_overflow_in_the_sum_is_skipped_by_all_ranks() {
        let group = threads::group(3, ring_all_reduce, Duration::from_secs(30));
        threads::on_each(group, |rank| {
            let scaler = DynamicScaler::new(8.0, 100).unwrap();
            let mut state = EngineState::new(1, Box::new(scaler), 0.0).unwrap();
            let mut params = vec![1.0; 6];
            engine_backward(&mut state, &[1.0, 1.0, 1.0, 1.0, 1.0, f32::MAX]).unwrap();
            let step = engine_step(&mut state, &rank, &mut params, &mut |_, _| panic!("no step"));
            assert_eq!(step.unwrap(), Outcome::Skipped);
            assert_eq!((params, state.scaler.scale()), (vec![1.0; 6], 4.0));
        });
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let scaler = || Box::new(DynamicScaler::new(8.0, 100).unwrap());
        assert!(EngineState::new(0, scaler(), 0.0).is_err());
        assert!(EngineState::new(1, scaler(), f64::NAN).is_err());
    }
}
