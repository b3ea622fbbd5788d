//! Lesson 07 by a student who completes each third hint and has no other idea. The lines of the hints are as they are there.

use candle_core::{DType, Result, Tensor, Var};
use canopy::{
    optim::{AdamState, LambConfig, LarsConfig},
    schedule::{Decay, OneCycle, RangeFound},
};

/// The learning rate of `step`, counted from 0, for batches of `batch` records, if `base` is right for batches of
/// `reference`: it rises linearly from `base` at step 0 to base·batch/reference at step `warmup`, and stays there.
///
/// Without warm-up (`warmup` is 0), it is base·batch/reference from step 0 on. `batch` and `reference` are at least 1;
/// `batch` may be smaller than `reference`, and need not be a multiple of it.
pub fn scaled_warmup(step: u64, warmup: u64, base: f64, batch: usize, reference: usize) -> f64 {
    let to = base * (batch as f64 / reference as f64);
    if step >= warmup {
        return to;
    }
    base + (to - base) * (step as f64 / warmup as f64)
}

/// The learning rate and the momentum of `step`, counted from 0, of one cycle; None from step `cycle.total` on.
///
/// The rate starts at first = max/first_divisor, reaches its peak `max` at step rising·total − 1, which need not be
/// a whole number, and is first/last_divisor at step total − 1. The momentum starts and ends at
/// `greatest_momentum`, and is `least_momentum` at the peak of the rate. Between two of these points, when a share
/// s of the steps from a to b is done, the value is b + (a − b)/2·(1 + cos πs). Here `total` is at least 4,
/// rising·total is at least 2 and less than total, both divisors are above 1, and `least_momentum` is less than
/// `greatest_momentum`.
pub fn one_cycle(cycle: &OneCycle, step: u64) -> Option<(f64, f64)> {
    if step >= cycle.total {
        return None;
    }
    let (max, low, high) = (cycle.max, cycle.least_momentum, cycle.greatest_momentum);
    let first = max / cycle.first_divisor;
    let (t, top) = (step as f64, cycle.rising * cycle.total as f64 - 1.0);
    let way = |a: f64, b: f64, s: f64| {
        b + (a - b) / 2.0 * (1.0 + (std::f64::consts::PI * s).cos())
    };
    if t <= top {
        let s = t / top;
        return Some((way(first, max, s), way(high, low, s)));
    }
    let s = (t - top) / (cycle.total as f64 - 1.0 - top);
    Some((way(max, first / cycle.last_divisor, s), way(low, high, s)))
}

/// The rate of `step`, counted from 0: base·gammaᵏ after k decays. 0 < gamma ≤ 1, and k is less than 2³¹.
///
/// `Decay::Step(size)`: the rate decays after every `size` steps, first at step `size`; a size of 0 counts as 1.
/// `Decay::Milestones(list)`: it decays once for each milestone, and at the milestone itself it has already decayed;
/// the list is in any order, may be empty, and a milestone that is in it twice counts twice. `Decay::Exponential`: it
/// decays after every step, first at step 1.
pub fn decayed(decay: &Decay, step: u64, gamma: f64, base: f64) -> f64 {
    let k = match decay {
        Decay::Step(size) => step / (*size).max(1),
        Decay::Milestones(list) => {
            list.iter().filter(|&&m| step >= m).count() as u64
        }
        Decay::Exponential => step,
    };
    base * gamma.powi(k as i32)
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
    let (mut mean, mut left, mut least) = (0.0, 1.0, f64::INFINITY);
    let (mut losses, mut broke) = (Vec::new(), false);
    for &rate in rates {
        let x = train(rate);
        mean = smoothing * mean + (1.0 - smoothing) * x;
        left *= smoothing;
        let smooth = mean / (1.0 - left);
        if !smooth.is_finite() || smooth > breaks * least {
            broke = true;
            break;
        }
        least = least.min(smooth);
        losses.push(smooth);
    }
    let (mut start, mut best) = (0, (0, 1));
    for i in 1..losses.len() {
        if losses[i] < losses[i - 1] {
            if i - start + 1 > best.1 {
                best = (start, i - start + 1);
            }
        } else {
            start = i;
        }
    }
    let at = best.0 + best.1 / 3 + best.1 / 6;
    let suggestion = (best.1 >= 2).then(|| rates[at]);
    RangeFound {
        rates: rates[..losses.len()].to_vec(),
        losses,
        suggestion,
        broke,
    }
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
    let norm = |t: &Tensor| -> Result<f64> {
        t.sqr()?.sum_all()?.sqrt()?.to_dtype(DType::F64)?.to_scalar::<f64>()
    };
    for i in 0..params.len() {
        let (w, grad, velocity) = (params[i].as_detached_tensor(), &grads[i], &velocities[i]);
        let (wn, gn) = (norm(&w)?, norm(grad)?);
    let (mut ratio, mut decay) = (1.0, 0.0);
    if w.rank() > 1 || config.vectors {
        decay = config.weight_decay;
        if wn > 0.0 && gn > 0.0 {
            ratio = config.trust * wn / (gn + decay * wn);
        }
    }
    let direction = (grad + (&w * decay)?)?;
    let v = (velocity.as_detached_tensor() * config.momentum)?;
    let v = (v + (direction * (lr * ratio))?)?;
        velocity.set(&v)?;
        params[i].set(&(w - v)?)?;
    }
    Ok(())
}

/// One step of LAMB: with Adam's m̂ and v̂, r = m̂/(√v̂ + ε) + λ·w, then w ← w − lr·(‖w‖/‖r‖)·r, for each parameter
/// w and its gradient g, with the 2-norms of that parameter. If ‖w‖ or ‖r‖ is 0, use 1 for ‖w‖/‖r‖.
///
/// m ← β₁·m + (1−β₁)·g and v ← β₂·v + (1−β₂)·g², kept in `state.mean` and `state.square`; m̂ = m/(1−β₁ᵗ), v̂ =
/// v/(1−β₂ᵗ). t counts the steps from 1: `state.step` is 0 before the first and 1 after it. β₁, β₂, ε and λ are
/// `beta1`, `beta2`, `eps` and `weight_decay` of `config`; ε is above 0. All parameters are treated alike, whatever
/// their shape. All tensors are f32, and the norms, also those of g, are 0 or between 1e-15 and 1e15.
pub fn lamb_step(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &LambConfig,
) -> Result<()> {
    let norm = |t: &Tensor| -> Result<f64> {
        t.sqr()?.sum_all()?.sqrt()?.to_dtype(DType::F64)?.to_scalar::<f64>()
    };
    state.step += 1;
    let t = state.step as f64;
    for i in 0..params.len() {
        let (w, g) = (params[i].as_detached_tensor(), &grads[i]);
        let m = ((state.mean[i].as_tensor() * config.beta1)? + (g * (1.0 - config.beta1))?)?;
        let v = ((state.square[i].as_tensor() * config.beta2)? + (g.sqr()? * (1.0 - config.beta2))?)?;
    let up = (&m / (1.0 - config.beta1.powf(t)))?;
    let below = (&v / (1.0 - config.beta2.powf(t)))?.sqrt()?;
    let r =
        ((up / (below + config.eps)?)? + (&w * config.weight_decay)?)?;
        let (wn, rn) = (norm(&w)?, norm(&r)?);
    let ratio = if wn > 0.0 && rn > 0.0 { wn / rn } else { 1.0 };
    params[i].set(&(w - (r * (lr * ratio))?)?)?;
        state.mean[i].set(&m)?;
        state.square[i].set(&v)?;
    }
    Ok(())
}

/// The gradients of the mean loss over a large batch that is processed in micro-batches: Σᵢ weightᵢ·gᵢ / Σᵢ
/// weightᵢ.
///
/// `weights[i]` is the weight of micro-batch i: its number of records, or the sum of their weights, which may be 0 or
/// a fraction, but not negative. `gradients(i)` returns the gradients of its own mean loss, one for each parameter,
/// always in the same order; the result has their dtypes, f32 or f64. Call it once for each micro-batch, from the
/// first to the last, and keep only the sum: the next call may write into the memory of the gradients before. If it
/// fails, return its error and do not call it again. There is at least one micro-batch, and the first weight is above
/// 0.
pub fn accumulated(
    weights: &[f64],
    gradients: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    let total: f64 = weights.iter().sum();
    let mut sum: Vec<Tensor> = Vec::new();
    for (i, weight) in weights.iter().enumerate() {
        for (k, grad) in gradients(i)?.iter().enumerate() {
            let part = (grad * (weight / total))?;
            if i == 0 {
                sum.push(part);
            } else {
                sum[k] = (&sum[k] + part)?;
            }
        }
    }
    Ok(sum)
}

/// The loss at w + α·d for each α of `alphas`, in their order, where w are the values of `params` and d their
/// filter-normalised `directions`. `loss()` returns the loss at the values that `params` have when it is called, which
/// may be infinite or NaN. Call it once for each α, also for 0.
///
/// Filter-normalised: each filter of d, that is `d[i]` along the first axis with all further axes, is scaled to the
/// length (2-norm) of the filter `w[i]` of w. If one of the two is all zeros, `w[i]` does not move. Parameters with at
/// most one axis do not move at all. All tensors are f32, and the lengths are 0 or between 1e-15 and 1e15. Afterwards
/// the parameters are bit-identical to what they were before, even if `loss` fails; then return its error and do not
/// call it again.
pub fn loss_along(
    params: &[Var],
    directions: &[Tensor],
    alphas: &[f64],
    loss: &mut dyn FnMut() -> Result<f64>,
) -> Result<Vec<f64>> {
    let mut start = Vec::new();
    let mut ways = Vec::new();
    for (p, direction) in params.iter().zip(directions) {
        let w = p.as_detached_tensor().copy()?;
        if w.rank() < 2 {
            ways.push(w.zeros_like()?);
        } else {
            let lengths = |t: &Tensor| t.flatten_from(1)?.sqr()?.sum_keepdim(1)?.sqrt();
            let (lengths_of_w, lengths_of_d) = (lengths(&w)?, lengths(direction)?);
            let lengths_of_d = lengths_of_d.eq(0.0)?.where_cond(&lengths_of_d.ones_like()?, &lengths_of_d)?;
            ways.push({
    let scaled = direction
        .flatten_from(1)?
        .broadcast_mul(&(lengths_of_w / lengths_of_d)?)?;
    scaled.reshape(direction.shape())?
            });
        }
        start.push(w);
    }
    let losses: Result<Vec<f64>> = alphas
        .iter()
        .map(|&a| {
            for i in 0..params.len() {
                params[i].set(&(&start[i] + (&ways[i] * a)?)?)?;
            }
            loss()
        })
        .collect();
    for (p, w) in params.iter().zip(&start) {
        p.set(w)?;
    }
    losses
}
