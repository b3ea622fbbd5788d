//! Lesson 07: large batches. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson07` checks the lesson, `cargo test -p lesson07 7.2` one exercise. `cargo course hint 7.2` shows
//! a hint.

use candle_core::{DType, Result, Tensor, Var};
use canopy::{
    optim::{AdamState, LambConfig, LarsConfig},
    schedule::{Decay, OneCycle, RangeFound},
};

/// The learning rate of `step`, counted from 0. It rises linearly from `base` at step 0 to the scaled rate
/// base·batch/reference at step `warmup`, and stays there. If `warmup` is 0, step 0 already has the scaled rate.
pub fn scaled_warmup(step: u64, warmup: u64, base: f64, batch: usize, reference: usize) -> f64 {
    todo!("7.1: the scaled rate, and the rise to it")
}

/// The learning rate and the momentum of `step`, counted from 0; None from step `cycle.total` on.
///
/// The rate starts at first = max/first_divisor, is `max` at step rising·total − 1, which may be a fraction, and ends
/// at first/last_divisor at step total − 1. The momentum goes from `greatest_momentum` to `least_momentum` and back.
/// After a share s of the steps from a to b, the value is b + (a − b)/2·(1 + cos πs).
pub fn one_cycle(cycle: &OneCycle, step: u64) -> Option<(f64, f64)> {
    todo!("7.2: which phase, what share of it is done, and both values")
}

/// The rate of `step`, counted from 0: base·gammaᵏ after k decays.
///
/// - `Decay::Step(size)` decays after every `size` steps, first at step `size`; a size of 0 counts as 1.
/// - `Decay::Milestones(list)` decays once for each milestone that is reached. The list may be unsorted or empty, and
///   may repeat one.
/// - `Decay::Exponential` decays after every step, first at step 1.
pub fn decayed(decay: &Decay, step: u64, gamma: f64, base: f64) -> f64 {
    todo!("7.3: count the decays")
}

/// Takes a training step at each of `rates` in turn, if any: `train(rate)` returns the loss x. The smoothed loss of
/// step t, counted from 1, is m/(1−βᵗ), where m ← β·m + (1−β)·x, from m = 0, and β is `smoothing`. If the smoothed loss
/// is not finite, or above `breaks` times the least one before it, the test ends with `broke` true, without this step
/// in the result.
///
/// The suggestion is the rate at index s + ⌊L/3⌋ + ⌊L/6⌋ for the first longest fall: L smoothed losses in a row, from
/// index s on, each lower than the one before it. Without a fall (L ≥ 2), it is None.
pub fn range_test(
    rates: &[f64],
    smoothing: f64,
    breaks: f64,
    train: &mut dyn FnMut(f64) -> f64,
) -> RangeFound {
    todo!("7.4: smooth, stop, find the longest fall")
}

/// One step of LARS for each parameter w with gradient g and velocity v: v ← μ·v + lr·ratio·(g + λ·w), then w ← w − v.
/// The ratio is η·‖w‖/(‖g‖ + λ·‖w‖), with 2-norms, or 1 if ‖w‖ or ‖g‖ is exactly 0.
///
/// Parameters with at most one axis have ratio 1 and λ 0, unless `config.vectors` is true. `config` has μ, λ and η.
pub fn lars_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    config: &LarsConfig,
) -> Result<()> {
    todo!("7.5: the trust ratio, the velocity, the parameter")
}

/// One step of LAMB for each parameter w of any shape, with gradient g: w ← w − lr·(‖w‖/‖r‖)·r, with 2-norms and r =
/// m̂/(√v̂ + ε) + λ·w. If ‖w‖ or ‖r‖ is exactly 0, use 1 for ‖w‖/‖r‖.
///
/// As in 1.5, m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ), and `state` keeps m, v and t. `config` has β₁, β₂, ε and λ.
pub fn lamb_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &LambConfig,
) -> Result<()> {
    todo!("7.6: Adam's direction with the decay added, scaled by the norm of the parameter")
}

/// The gradients of a large batch's mean loss: Σᵢ weightᵢ·gᵢ / Σᵢ weightᵢ. A weight may be 0 or a fraction.
///
/// `gradients(i)` returns gᵢ, the gradients of micro-batch i, one for each parameter. Call it once for each i, in
/// order, and keep only the sum: the next call may overwrite gᵢ. If it fails, return its error at once.
pub fn accumulated(
    weights: &[f64],
    gradients: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    todo!("7.7: a weighted mean, one micro-batch after the other")
}

/// The loss at w + α·d for each α of `alphas`, in order, by one call of `loss()` each; it may be infinite or NaN. Here
/// w is `params` before the call, and d is `directions` with each filter `d[i]`, however small its norm, scaled to the
/// 2-norm of `w[i]`.
///
/// A filter of zeros in w or d does not move, nor do parameters with at most one axis. At the end, `params` are
/// bit-identical to w, even if `loss` fails; then return its error at once.
pub fn loss_along(
    params: &[Var],
    directions: &[Tensor],
    alphas: &[f64],
    loss: &mut dyn FnMut() -> Result<f64>,
) -> Result<Vec<f64>> {
    todo!("7.8: copy, normalise, set and evaluate, restore")
}
