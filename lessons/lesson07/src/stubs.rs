//! Lesson 07: large batches. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson07` checks the lesson, `cargo test -p lesson07 7.2` one exercise. `cargo course hint 7.2` shows a
//! hint.

use candle_core::{DType, Result, Tensor, Var};
use canopy::{
    optim::{AdamState, LambConfig, LarsConfig},
    schedule::{Decay, OneCycle, RangeFound},
};

/// The learning rate of `step`, counted from 0, for batches of `batch` records, if `base` is right for batches of
/// `reference`: it rises linearly from `base` at step 0 to base·batch/reference at step `warmup`, and stays there.
///
/// Without warm-up (`warmup` is 0), it is base·batch/reference from step 0 on. `base` is above 0, `batch` and
/// `reference` are at least 1; `batch` may be smaller than `reference`, and need not be a multiple of it.
pub fn scaled_warmup(step: u64, warmup: u64, base: f64, batch: usize, reference: usize) -> f64 {
    todo!("7.1: the scaled rate, and the rise to it")
}

/// The learning rate and the momentum of `step`, counted from 0, of one cycle; None from step `cycle.total` on.
///
/// The rate starts at first = max/first_divisor, reaches its peak `max` at step rising·total − 1, which need not be
/// a whole number, and is first/last_divisor at step total − 1. The momentum starts and ends at
/// `greatest_momentum`, and is `least_momentum` at the peak of the rate. Between two of these points, when a share
/// s of the steps from a to b is done, the value is b + (a − b)/2·(1 + cos πs). Here `max` is above 0, `total` is at
/// least 4, rising·total is at least 2 and less than total, both divisors are above 1, and `least_momentum` is less
/// than `greatest_momentum`.
pub fn one_cycle(cycle: &OneCycle, step: u64) -> Option<(f64, f64)> {
    todo!("7.2: which phase, what share of it is done, and both values")
}

/// The rate of `step`, counted from 0: base·gammaᵏ after k decays. 0 < gamma ≤ 1, and k is less than 2³¹.
///
/// `Decay::Step(size)`: the rate decays after every `size` steps, first at step `size`; a size of 0 counts as 1.
/// `Decay::Milestones(list)`: it decays once for each milestone, and at the milestone itself it has already decayed;
/// the list is in any order, may be empty, and a milestone that is in it twice counts twice. `Decay::Exponential`: it
/// decays after every step, first at step 1.
pub fn decayed(decay: &Decay, step: u64, gamma: f64, base: f64) -> f64 {
    todo!("7.3: count the decays")
}

/// Takes a training step at each of `rates` in turn, until the loss diverges; there may be no rates. `train(rate)`
/// takes one step and returns its loss x. The test smooths it: m ← β·m + (1−β)·x from m = 0, where β is `smoothing`,
/// at least 0 and less than 1. The smoothed loss of step t, counted from 1, is m/(1−βᵗ).
///
/// Training has diverged if the smoothed loss is not finite, also at the first step, or if it is above `breaks` times
/// the least smoothed loss of the steps before. Then no further step is taken, `broke` is true, and neither the rate
/// nor the loss of that step is in the result. Finite losses are above 0, and `breaks` is above 1.
///
/// The result has the `rates` that were used, their smoothed `losses`, and a `suggestion`. It is taken from the
/// longest fall: L smoothed losses in a row, from index s on, each lower than the one before it. The suggestion is the
/// rate at index s + ⌊L/3⌋ + ⌊L/6⌋. Of equally long falls the first counts. A fall may last to the end. Without a
/// fall (L ≥ 2), the suggestion is None.
pub fn range_test(
    rates: &[f64],
    smoothing: f64,
    breaks: f64,
    train: &mut dyn FnMut(f64) -> f64,
) -> RangeFound {
    todo!("7.4: smooth, stop, find the longest fall")
}

/// One step of LARS: v ← μ·v + lr·ratio·(g + λ·w), then w ← w − v, for each parameter w, its gradient g and its
/// velocity v. The ratio is η·‖w‖/(‖g‖ + λ·‖w‖), with the 2-norms of that parameter, or 1 if ‖w‖ or ‖g‖ is 0.
///
/// μ is `config.momentum`, λ is `config.weight_decay`, η is `config.trust`. Parameters with at most one axis
/// (biases, the scales of batch norm) have ratio 1 and λ 0. If `config.vectors` is true, they are treated like all
/// others. The velocities start at zero and are kept from step to step, so the function changes them as well. All
/// tensors are f32, the norms are 0 or between 1e-15 and 1e15, and the three lists are equally long.
pub fn lars_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    config: &LarsConfig,
) -> Result<()> {
    todo!("7.5: the trust ratio, the velocity, the parameter")
}

/// One step of LAMB: with Adam's m̂ and v̂, r = m̂/(√v̂ + ε) + λ·w, then w ← w − lr·(‖w‖/‖r‖)·r, for each parameter
/// w and its gradient g, with the 2-norms of that parameter. If ‖w‖ or ‖r‖ is 0, use 1 for ‖w‖/‖r‖.
///
/// m ← β₁·m + (1−β₁)·g and v ← β₂·v + (1−β₂)·g², kept in `state.mean` and `state.square`; m̂ = m/(1−β₁ᵗ), v̂ =
/// v/(1−β₂ᵗ). t counts the steps from 1: `state.step` is 0 before the first and 1 after it. β₁, β₂, ε and λ are
/// `beta1`, `beta2`, `eps` and `weight_decay` of `config`; ε is above 0. All parameters are treated alike, whatever
/// their shape. All tensors are f32, the norms, also those of g, are 0 or between 1e-15 and 1e15, and all lists are
/// equally long.
pub fn lamb_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &LambConfig,
) -> Result<()> {
    todo!("7.6: Adam's direction with the decay added, scaled by the norm of the parameter")
}

/// The gradients of the mean loss over a large batch that is processed in micro-batches: Σᵢ weightᵢ·gᵢ / Σᵢ
/// weightᵢ.
///
/// `weights[i]` is the weight of micro-batch i: its number of records, or the sum of their weights, which may be 0 or
/// a fraction, but not negative. `gradients(i)` returns the gradients of its own mean loss, all finite, one for each
/// parameter, always in the same order; the result has their dtypes, f32 or f64. Call it once for each micro-batch,
/// from the first to the last, and keep only the sum: the next call may write into the memory of the gradients
/// before. If it fails, return its error and do not call it again. There is at least one micro-batch, and the first
/// weight is above 0.
pub fn accumulated(
    weights: &[f64],
    gradients: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    todo!("7.7: a weighted mean, one micro-batch after the other")
}

/// The loss at w + α·d for each α of `alphas`, in their order, where w are the values of `params` and d their
/// filter-normalised `directions`. `loss()` returns the loss at the values that `params` have when it is called, and
/// does not change them. The loss may be infinite or NaN. Call `loss` once for each α, also for 0.
///
/// Filter-normalised: each filter of d, that is `d[i]` along the first axis with all further axes, is scaled to the
/// length (2-norm) of the filter `w[i]` of w. If one of the two is all zeros, `w[i]` does not move. Parameters with at
/// most one axis do not move at all. All tensors are f32, the lengths are 0 or between 1e-15 and 1e15, and both lists
/// are equally long. Afterwards the parameters are bit-identical to what they were before, even if `loss` fails; then
/// return its error and do not call it again.
pub fn loss_along(
    params: &[Var],
    directions: &[Tensor],
    alphas: &[f64],
    loss: &mut dyn FnMut() -> Result<f64>,
) -> Result<Vec<f64>> {
    todo!("7.8: copy, normalise, set and evaluate, restore")
}
