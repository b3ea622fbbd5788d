//! Lesson 07: large batches. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson07` checks the lesson, `cargo test -p lesson07 7.2` one exercise. `cargo course hint 7.2` shows a
//! hint.

use candle_core::{DType, Result, Tensor, Var};
use canopy::{
    optim::{AdamState, LambConfig, LarsConfig},
    schedule::{Decay, OneCycle, RangeFound},
};

/// The learning rate of `step`, counted from 0, for batches of `batch` records, if `base` is right for `reference`
/// records. It rises linearly from `base` at step 0 to base·batch/reference at step `warmup`, and stays there.
///
/// Without warm-up (`warmup` is 0), step 0 already has the scaled rate. Both batch sizes are at least 1; `batch` may
/// be smaller than `reference`, and no multiple of it.
pub fn scaled_warmup(step: u64, warmup: u64, base: f64, batch: usize, reference: usize) -> f64 {
    todo!("7.1: the scaled rate, and the rise to it")
}

/// The learning rate and the momentum of `step`, counted from 0; None from step `cycle.total` on.
///
/// The rate starts at first = max/first_divisor, is `max` at step rising·total − 1, which need not be a whole number,
/// and ends at first/last_divisor at step total − 1. The momentum goes from `greatest_momentum` to `least_momentum`
/// and back. After a share s of the steps from a to b, the value is b + (a − b)/2·(1 + cos πs). rising·total is at
/// least 2 and less than total.
pub fn one_cycle(cycle: &OneCycle, step: u64) -> Option<(f64, f64)> {
    todo!("7.2: which phase, what share of it is done, and both values")
}

/// The rate of `step`, counted from 0: base·gammaᵏ after k decays. k is less than 2³¹.
///
/// `Decay::Step(size)` decays after every `size` steps, first at step `size`; a size of 0 counts as 1.
/// `Decay::Milestones(list)` decays once for each milestone that is reached; the list is in any order, may be empty,
/// and may have a milestone twice. `Decay::Exponential` decays after every step, first at step 1.
pub fn decayed(decay: &Decay, step: u64, gamma: f64, base: f64) -> f64 {
    todo!("7.3: count the decays")
}

/// Takes a training step at each of `rates` in turn, which may be none: `train(rate)` returns its loss x. Then m ←
/// β·m + (1−β)·x, from m = 0, with `smoothing` for β; the smoothed loss of step t, counted from 1, is m/(1−βᵗ). If it
/// is not finite, or above `breaks` times the least one before, the test ends: `broke` is true, and this step is not
/// in the result.
///
/// The suggestion is the rate at index s + ⌊L/3⌋ + ⌊L/6⌋, for the first longest fall: L smoothed losses in a row,
/// from index s on, each lower than the one before it. Without a fall (L ≥ 2), it is None.
pub fn range_test(
    rates: &[f64],
    smoothing: f64,
    breaks: f64,
    train: &mut dyn FnMut(f64) -> f64,
) -> RangeFound {
    todo!("7.4: smooth, stop, find the longest fall")
}

/// One step of LARS for each parameter w, its gradient g and its velocity v: v ← μ·v + lr·ratio·(g + λ·w), then
/// w ← w − v. The ratio is η·‖w‖/(‖g‖ + λ·‖w‖), with 2-norms, or 1 if ‖w‖ or ‖g‖ is 0.
///
/// μ is `config.momentum`, λ is `weight_decay`, η is `trust`. Parameters with at most one axis have ratio 1 and λ 0.
/// If `config.vectors` is true, they are treated like all others. Both variables change. All tensors are f32, and the
/// norms are 0 or between 1e-15 and 1e15.
pub fn lars_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    config: &LarsConfig,
) -> Result<()> {
    todo!("7.5: the trust ratio, the velocity, the parameter")
}

/// One step of LAMB for each parameter w of any shape and its gradient g: r = m̂/(√v̂ + ε) + λ·w, then
/// w ← w − lr·(‖w‖/‖r‖)·r, with 2-norms. If ‖w‖ or ‖r‖ is 0, use 1 for ‖w‖/‖r‖.
///
/// As in 1.5, m ← β₁·m + (1−β₁)·g and v ← β₂·v + (1−β₂)·g² are kept in `state.mean` and `state.square`, m̂ =
/// m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ), and `state.step` is t after step t. λ is `config.weight_decay`. All tensors are f32, and
/// the norms, also those of g, are 0 or between 1e-15 and 1e15.
pub fn lamb_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &LambConfig,
) -> Result<()> {
    todo!("7.6: Adam's direction with the decay added, scaled by the norm of the parameter")
}

/// The gradients of the mean loss over a large batch, from its micro-batches: Σᵢ weightᵢ·gᵢ / Σᵢ weightᵢ.
///
/// `gradients(i)` returns those of micro-batch i alone, one of f32 for each parameter. Call it once for each
/// micro-batch, in order, and keep only the sum: the next call may write into the memory of the last. If it fails,
/// return its error, without another call. A weight may be 0 or a fraction; the first one is above 0.
pub fn accumulated(
    weights: &[f64],
    gradients: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    todo!("7.7: a weighted mean, one micro-batch after the other")
}

/// The loss at w + α·d for each α of `alphas`, in their order, by one call of `loss()`; it may be infinite or NaN.
///
/// w are the values of `params`. d are the `directions`, of which each filter `d[i]`, with all further axes, is scaled
/// to the length (2-norm) of `w[i]`; if one of the two is all zeros, `w[i]` does not move. Nor do parameters with at
/// most one axis. At the end, `params` are bit-identical to w, even if `loss` fails: then return its error, without
/// another call. Lengths are 0 or between 1e-15 and 1e15.
pub fn loss_along(
    params: &[Var],
    directions: &[Tensor],
    alphas: &[f64],
    loss: &mut dyn FnMut() -> Result<f64>,
) -> Result<Vec<f64>> {
    todo!("7.8: copy, normalise, set and evaluate, restore")
}
