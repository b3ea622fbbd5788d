//! Lesson 07: large batches. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson07` checks the lesson, `cargo test -p lesson07 7.2` one exercise. `cargo course hint 7.2` shows
//! a hint.

use candle_core::{DType, Result, Tensor, Var};
use canopy::{
    optim::{AdamState, LambConfig, LarsConfig},
    schedule::{Decay, OneCycle, RangeFound},
};

/// The learning rate of `step`, counted from 0: `base·batch/reference` from step `warmup` on, and before that a
/// linear rise from `base` at step 0.
pub fn scaled_warmup(step: u64, warmup: u64, base: f64, batch: usize, reference: usize) -> f64 {
    todo!("7.1: the scaled rate, and the rise to it")
}

/// The learning rate and the momentum of `step`, counted from 0; None from step `cycle.total` on.
///
/// The phases end at step `rising·total − 1`, which may be a fraction, and at `total − 1`. After a share s of the
/// steps from a to b, the value is `b + (a − b)/2·(1 + cos πs)`.
pub fn one_cycle(cycle: &OneCycle, step: u64) -> Option<(f64, f64)> {
    todo!("7.2: which phase, what share of it is done, and both values")
}

/// The learning rate of `step`, counted from 0: `base·gammaᵏ`, where k is the number of decays up to this step,
/// included. `Decay` says when the rate decays.
pub fn decayed(decay: &Decay, step: u64, gamma: f64, base: f64) -> f64 {
    todo!("7.3: count the decays")
}

/// Calls `train`, which takes a step and returns its loss, with each of `rates`, until the smoothed loss (as m̂ in 1.5,
/// with `β = smoothing`) is not finite, or above `breaks` times the least one before.
///
/// The suggestion is `rates[s + ⌊L/3⌋ + ⌊L/6⌋]` for the first longest fall: L ≥ 2 smoothed losses from `s` on, each
/// lower than the one before.
pub fn range_test(
    rates: &[f64],
    smoothing: f64,
    breaks: f64,
    train: &mut dyn FnMut(f64) -> f64,
) -> RangeFound {
    todo!("7.4: smooth, stop, find the longest fall")
}

/// One step of LARS for each parameter w: `v ← μ·v + lr·ratio·(g + λ·w)`, then `w ← w − v`. The ratio is
/// `η·‖w‖/(‖g‖ + λ·‖w‖)`, with 2-norms, or 1 if `‖w‖` or `‖g‖` is 0.
///
/// With at most one axis, `ratio = 1` and `λ = 0`, unless `config.vectors`.
pub fn lars_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    config: &LarsConfig,
) -> Result<()> {
    todo!("7.5: the trust ratio, the velocity, the parameter")
}

/// One step of LAMB for each parameter w: `w ← w − lr·(‖w‖/‖r‖)·r`, with 2-norms. If `‖w‖` or `‖r‖` is 0, use 1 for
/// `‖w‖/‖r‖`. Here `r = m̂/(√v̂ + ε) + λ·w`, with m̂ and v̂ as in 1.5.
pub fn lamb_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &LambConfig,
) -> Result<()> {
    todo!("7.6: Adam's direction with the decay added, scaled by the norm of the parameter")
}

/// Returns `Σᵢ weightᵢ·gᵢ / Σᵢ weightᵢ`, where `gradients(i)` returns gᵢ. Call it once for each i, in order, and keep
/// only the sum: the next call may overwrite gᵢ. Return its error at once.
pub fn accumulated(
    weights: &[f64],
    gradients: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    todo!("7.7: a weighted mean, one micro-batch after the other")
}

/// The loss at `w + α·d` for each α of `alphas`, in order, by one call of `loss` each. `w = params`; d is `directions`,
/// each filter scaled to the 2-norm of w's. A filter of zeros in w or d stays, like parameters with at most one axis.
///
/// `params` end bit-identical to w, even if `loss` fails; then return its error at once.
pub fn loss_along(
    params: &[Var],
    directions: &[Tensor],
    alphas: &[f64],
    loss: &mut dyn FnMut() -> Result<f64>,
) -> Result<Vec<f64>> {
    todo!("7.8: copy, normalise, set and evaluate, restore")
}
