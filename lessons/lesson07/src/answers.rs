//! Lesson 07: the third hint of each exercise, completed as a student does who has no other idea. `M` is 0 here; each
//! other number is one known mistake, whose cause is in the exercise's file.

use candle_core::{DType, Result, Tensor, Var};
use canopy::optim::{AdamState, LambConfig, LarsConfig};
use canopy::schedule::{Decay, OneCycle, RangeFound};

pub fn scaled_warmup<const M: u8>(step: u64, warmup: u64, base: f64, batch: usize, reference: usize) -> f64 {
    let to = base * (batch as f64 / reference as f64);
    match M {
        1 if step < warmup => return to * (step as f64 / warmup as f64),
        2 => return scaled_warmup::<0>(step, warmup, base, reference, batch),
        3 => return scaled_warmup::<0>(step, warmup, base, batch / reference, 1),
        _ => {}
    }
    if step >= warmup {
        return to;
    }
    base + (to - base) * (step as f64 / warmup as f64)
}

pub fn one_cycle<const M: u8>(cycle: &OneCycle, step: u64) -> Option<(f64, f64)> {
    if step >= cycle.total {
        return None;
    }
    let (max, mut low, mut high) = (cycle.max, cycle.least_momentum, cycle.greatest_momentum);
    let first = max / cycle.first_divisor;
    let (t, mut top, mut last) = (
        step as f64,
        cycle.rising * cycle.total as f64 - 1.0,
        first / cycle.last_divisor,
    );
    match M {
        1 => (low, high) = (high, low),
        2 => top += 1.0,
        3 => last = max / cycle.last_divisor,
        _ => {}
    }
    let way = |a: f64, b: f64, s: f64| {
        let (a, b) = if M == 4 { (b, a) } else { (a, b) };
        b + (a - b) / 2.0 * (1.0 + (std::f64::consts::PI * s).cos())
    };
    if t <= top {
        let s = t / top;
        return Some((way(first, max, s), way(high, low, s)));
    }
    let s = (t - top) / (cycle.total as f64 - 1.0 - top);
    Some((way(max, last, s), way(low, high, s)))
}

pub fn decayed<const M: u8>(decay: &Decay, step: u64, gamma: f64, base: f64) -> f64 {
    match (decay, M) {
        (Decay::Step(size), 1) => return base * gamma.powf(step as f64 / *size as f64),
        (Decay::Step(size), 3) => return base * gamma.powi((step.saturating_sub(1) / size) as i32),
        _ => {}
    }
    #[rustfmt::skip]
    let k = match decay {
        Decay::Step(size) => step / size,
        Decay::Milestones(list) => {
            list.iter().filter(|&&m| step >= m).count() as u64
        }
        Decay::Exponential => step,
    };
    match M {
        2 => base * gamma * k as f64,
        _ => base * gamma.powi(k as i32),
    }
}

pub fn range_test<const M: u8>(
    rates: &[f64],
    smoothing: f64,
    breaks: f64,
    train: &mut dyn FnMut(f64) -> f64,
) -> RangeFound {
    let beta = if M == 5 { 1.0 - smoothing } else { smoothing };
    let (mut mean, mut left, mut least) = (0.0, 1.0, f64::INFINITY);
    let (mut losses, mut broke) = (Vec::new(), false);
    for &rate in rates {
        let x = train(rate);
        mean = beta * mean + (1.0 - beta) * x;
        left *= beta;
        let smooth = if M == 1 { mean } else { mean / (1.0 - left) };
        mean = if M == 2 { smooth } else { mean };
        let seen = if M == 3 { x } else { smooth };
        if !seen.is_finite() || seen > breaks * least {
            broke = true;
            break;
        }
        least = least.min(seen);
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
    let lowest = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    let at = if M == 4 { lowest.unwrap_or(at) } else { at };
    let suggestion = (best.1 >= 2).then(|| rates[at]);
    RangeFound {
        rates: rates[..losses.len()].to_vec(),
        losses,
        suggestion,
        broke,
    }
}

fn norm(t: &Tensor) -> Result<f64> {
    t.sqr()?.sum_all()?.sqrt()?.to_dtype(DType::F64)?.to_scalar()
}

pub fn lars_step<const M: u8>(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    lr: f64,
    config: &LarsConfig,
) -> Result<()> {
    let mut config = config.clone();
    config.vectors |= M == 1;
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
        ratio = if M == 2 { 1.0 } else { ratio };
        decay = if M == 3 { config.weight_decay } else { decay };
        let direction = (grad + (&w * decay)?)?;
        let v = (velocity.as_detached_tensor() * config.momentum)?;
        let v = (v + (direction * (lr * ratio))?)?;
        velocity.set(&v)?;
        params[i].set(&(w - v)?)?;
    }
    Ok(())
}

pub fn lamb_step<const M: u8>(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &LambConfig,
) -> Result<()> {
    state.step += 1;
    for i in 0..params.len() {
        let (w, g) = (params[i].as_detached_tensor(), &grads[i]);
        state.step += u64::from(M == 3 && i > 0);
        let t = if M == 1 { f64::INFINITY } else { state.step as f64 };
        let m = ((state.mean[i].as_detached_tensor() * config.beta1)? + (g * (1.0 - config.beta1))?)?;
        let v =
            ((state.square[i].as_detached_tensor() * config.beta2)? + (g.sqr()? * (1.0 - config.beta2))?)?;
        state.mean[i].set(&m)?;
        state.square[i].set(&v)?;
        let up = (&m / (1.0 - config.beta1.powf(t)))?;
        let below = (&v / (1.0 - config.beta2.powf(t)))?.sqrt()?;
        #[rustfmt::skip]
        let r =
            ((up / (below + config.eps)?)? + (&w * config.weight_decay)?)?;
        let (wn, rn) = (norm(&w)?, norm(if M == 2 { g } else { &r })?);
        let ratio = if wn > 0.0 && rn > 0.0 { wn / rn } else { 1.0 };
        let ratio = if M == 4 && w.rank() < 2 { 1.0 } else { ratio };
        params[i].set(&(w - (r * (lr * ratio))?)?)?;
    }
    Ok(())
}

pub fn accumulated<const M: u8>(
    weights: &[f64],
    gradients: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    let total: f64 = weights.iter().sum();
    let mut sum: Vec<Tensor> = Vec::new();
    for (i, weight) in weights.iter().enumerate() {
        let weight = match M {
            1 => total,
            2 => 1.0,
            3 => total / weights.len() as f64,
            _ => *weight,
        };
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

pub fn loss_along<const M: u8>(
    params: &[Var],
    directions: &[Tensor],
    alphas: &[f64],
    loss: &mut dyn FnMut() -> Result<f64>,
) -> Result<Vec<f64>> {
    let (mut start, mut ways) = (Vec::new(), Vec::new());
    for (p, direction) in params.iter().zip(directions) {
        let w = p.as_detached_tensor();
        start.push(if M == 1 { w.clone() } else { w.copy()? });
        if w.rank() < 2 {
            let stays = w.zeros_like()?;
            ways.push(if M == 2 { direction.clone() } else { stays });
            continue;
        }
        let lengths = |t: &Tensor| t.flatten_from(1)?.sqr()?.sum_keepdim(1)?.sqrt();
        let (lengths_of_w, n) = (lengths(&w)?, lengths(direction)?);
        let lengths_of_d = n.eq(0.0)?.where_cond(&n.ones_like()?, &n)?;
        ways.push({
            let scaled = direction
                .flatten_from(1)?
                .broadcast_mul(&(lengths_of_w / lengths_of_d)?)?;
            scaled.reshape(direction.shape())?
        });
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
    let losses = if M == 3 { Ok(losses?) } else { losses };
    for (p, w) in params.iter().zip(&start) {
        p.set(w)?;
    }
    losses
}
