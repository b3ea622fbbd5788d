//! Lesson 07: large batches. Put your code where a `todo!` stands; the comment above says what is asked.
//!
//! `cargo test -p lesson07` checks all, `cargo test -p lesson07 7.2` one exercise. `cargo course hint 7.2` helps.

use candle_core::{DType, Result, Tensor, Var, bail};
use canopy::{
    optim::{AdamState, LambConfig, LarsConfig},
    schedule::{Decay, OneCycle, RangeFound},
};

/// The learning rate of `step`, counted from 0, for batches of `batch` records, where `base` does well for batches of
/// `reference`: in a straight line from `base` at step 0 up to base·batch/reference at step `warmup`, and there it stays.
///
/// Without warm-up (`warmup` is 0) it is there at once. `batch` may be smaller than `reference`, and no multiple of it.
pub fn scaled_warmup(step: u64, warmup: u64, base: f64, batch: usize, reference: usize) -> f64 {
    todo!("7.1: the scaled rate, and the way there")
}

/// The learning rate and the momentum of `step`, from 0, of one cycle; None past its end, `cycle.total` steps.
///
/// The rate begins at first = max/first_divisor, is greatest (`max`) at step rising·total − 1, which need be no whole
/// number, and at step total − 1 it is first/last_divisor. The momentum begins and ends at `greatest_momentum`, and is
/// `least_momentum` where the rate is greatest. Between two turning points, with share s of the way from a to b done,
/// the value is b + (a − b)/2·(1 + cos πs). `total` is at least 4, rising·total at least 2 and less than total;
/// `cycle.course` is always the cosine, and you need not look at it.
pub fn one_cycle(cycle: &OneCycle, step: u64) -> Option<(f64, f64)> {
    todo!("7.2: which phase, what share of it, and both values there")
}

/// The rate base·gammaᵏ, k being how often it has fallen when `step` steps are done.
///
/// `Decay::Step(size)`: once in each whole `size` steps; a size of 0 counts as 1. `Decay::Milestones(list)`: once for each
/// milestone that is reached; at a milestone itself it has fallen already; the list is in any order and may be empty.
/// `Decay::Exponential`: once in each step.
pub fn decayed(decay: &Decay, step: u64, gamma: f64, base: f64) -> f64 {
    todo!("7.3: count the falls")
}

/// Takes a training step at each of `rates` in turn, until the loss breaks. `train(rate)` takes one and gives its loss.
///
/// Each loss x enters a running mean, m ← β·m + (1−β)·x from m = 0, β being `smoothing`; the smoothed loss of step t,
/// counted from 1, is m/(1−βᵗ). It breaks where it is not finite, or above `breaks` times the least smoothed loss of
/// the steps before. Then no further step is taken, `broke` is true, and the step that broke is left out of the result.
///
/// The result has the `rates` that were taken, their smoothed `losses`, and a `suggestion`: of the longest unbroken fall,
/// L smoothed losses long from index s on, each lower than the one before it, the rate at s + ⌊L/3⌋ + ⌊L/6⌋. Of falls
/// equally long the first counts; without a fall (L ≥ 2) the suggestion is None.
pub fn range_test(
    rates: &[f64],
    smoothing: f64,
    breaks: f64,
    train: &mut dyn FnMut(f64) -> f64,
) -> RangeFound {
    todo!("7.4: smooth, stop, find the valley")
}

/// One step of LARS: v ← μ·v + lr·ratio·(g + λ·w), then w ← w − v, for each parameter w, its gradient g and velocity v;
/// the ratio is η·‖w‖/(‖g‖ + λ·‖w‖), of each parameter's own norms, and 1 where ‖w‖ or ‖g‖ is 0.
///
/// μ is `config.momentum`, λ is `config.weight_decay`, η is `config.trust`. Parameters of one axis or none (biases, the
/// scales of batch norm) have ratio 1 and λ 0, unless `config.vectors` is true. The velocities begin at zero and are kept
/// from step to step: they are changed here as well.
pub fn lars_step(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    config: &LarsConfig,
) -> Result<()> {
    todo!("7.5: the trust ratio, the velocity, the parameter")
}

/// One step of LAMB: with Adam's m̂ and v̂, r = m̂/(√v̂ + ε) + λ·w, then w ← w − lr·(‖w‖/‖r‖)·r, for each parameter w and its
/// gradient g; where ‖w‖ or ‖r‖ is 0, 1 stands for ‖w‖/‖r‖.
///
/// m ← β₁·m + (1−β₁)·g and v ← β₂·v + (1−β₂)·g², kept in `state.mean` and `state.square`; m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ). t
/// counts the steps from 1: `state.step` is 0 before the first. β₁, β₂, ε and λ are `beta1`, `beta2`, `eps` and
/// `weight_decay` of `config`. All parameters are treated alike, whatever their shape.
pub fn lamb_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &LambConfig,
) -> Result<()> {
    todo!("7.6: Adam's direction with the decay in it, as long as the parameter says")
}

/// The gradients of the mean loss over a large batch that is seen in micro-batches: Σᵢ weightᵢ·gᵢ / Σᵢ weightᵢ.
///
/// `weights[i]` says how much micro-batch i counts: its number of records, or the sum of their weights. `gradients(i)`
/// gives the gradients of its own mean loss, one for each parameter, always in the same order. Ask for each once, from
/// the first to the last, and keep none: only the sum has room. If asking fails, so do you. There is at least one.
pub fn accumulated(
    weights: &[f64],
    gradients: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    todo!("7.7: a weighted mean, one micro-batch after the other")
}

/// The loss at w + α·d for each α of `alphas`, in their order; w are the values of `params`, d their `directions`,
/// filter-normalised. `loss()` gives the loss at the values that `params` have when it is called.
///
/// Filter-normalised: each filter of d, that is each `d[i]` along the first axis with all further axes, is stretched to
/// the length (2-norm) of w's filter `w[i]`; a filter of d that is all zeros stays so. Parameters of one axis or none do
/// not move at all. Afterwards the parameters have the very bits that they had before, also where `loss` fails: then its
/// error is the result.
pub fn loss_along(
    params: &[Var],
    directions: &[Tensor],
    alphas: &[f64],
    loss: &mut dyn FnMut() -> Result<f64>,
) -> Result<Vec<f64>> {
    todo!("7.8: remember, stretch, go there and look, come back")
}
