//! Building blocks of wrong answers, and of right ones that are written another way.

use candle_core::{Result, Tensor, Var};
use canopy::optim::{AdamConfig, AdamState};

use crate::REFERENCE;

pub fn dot(x: &[f32], w: &[f32]) -> f32 {
    x.iter().zip(w).map(|(x, w)| x * w).sum()
}

/// `change` of each parameter, its gradient and lr.
pub fn each(
    params: &[Var],
    grads: &[Tensor],
    change: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<()> {
    let mut pairs = params.iter().zip(grads);
    pairs.try_for_each(|(p, g)| p.set(&change(&p.as_detached_tensor(), g)?))
}

/// −log p of each row's label, then its mean, from log p.
pub fn picked(log_p: &Tensor, labels: &Tensor) -> Result<Tensor> {
    log_p.gather(&labels.unsqueeze(1)?, 1)?.mean_all()?.neg()
}

/// Momentum steps that differ in the velocity that is kept and in the direction that is gone:
/// `rule(w, g, v, lr, momentum)` gives the next velocity and the next parameter.
pub fn moved(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    rule: impl Fn(&Tensor, &Tensor, &Tensor) -> Result<(Tensor, Tensor)>,
) -> Result<()> {
    for ((p, g), v) in params.iter().zip(grads).zip(velocities) {
        let (next, w) = rule(&p.as_detached_tensor(), g, &v.as_detached_tensor())?;
        v.set(&next)?;
        p.set(&w)?;
    }
    Ok(())
}

/// What a wrong Adam does differently.
#[derive(Clone, Copy)]
pub struct Twist {
    pub correct_mean: bool,
    pub correct_square: bool,
    pub squared: bool,
    pub root: bool,
    pub eps_inside: bool,
    pub eps_before_correction: bool,
    pub late_count: bool,
    pub count_each: bool,
    pub swapped: bool,
    pub keeps: bool,
}

pub const ADAM: Twist = Twist {
    correct_mean: true,
    correct_square: true,
    squared: true,
    root: true,
    eps_inside: false,
    eps_before_correction: false,
    late_count: false,
    count_each: false,
    swapped: false,
    keeps: true,
};

pub fn twisted(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &AdamConfig,
    twist: Twist,
) -> Result<()> {
    let (b1, b2) = if twist.swapped {
        (config.beta2, config.beta1)
    } else {
        (config.beta1, config.beta2)
    };
    if !twist.late_count && !twist.count_each {
        state.step += 1;
    }
    for (i, (p, g)) in params.iter().zip(grads).enumerate() {
        if twist.count_each {
            state.step += 1;
        }
        let m = ((state.mean[i].as_detached_tensor() * b1)? + (g * (1.0 - b1))?)?;
        let g2 = if twist.squared { g.sqr()? } else { g.abs()? };
        let v = ((state.square[i].as_detached_tensor() * b2)? + (g2 * (1.0 - b2))?)?;
        let t = state.step as f64;
        let c1 = if twist.correct_mean { 1.0 - b1.powf(t) } else { 1.0 };
        let c2 = if twist.correct_square {
            1.0 - b2.powf(t)
        } else {
            1.0
        };
        let v_hat = (&v / c2)?;
        let below = match (twist.root, twist.eps_inside, twist.eps_before_correction) {
            (false, _, _) => (v_hat + config.eps)?,
            (_, true, _) => (v_hat + config.eps)?.sqrt()?,
            (_, _, true) => ((v.sqrt()? + config.eps)? / c2.sqrt())?,
            _ => (v_hat.sqrt()? + config.eps)?,
        };
        p.set(&(p.as_detached_tensor() - (((&m / c1)? / below)? * lr)?)?)?;
        if twist.keeps {
            state.mean[i].set(&m)?;
            state.square[i].set(&v)?;
        }
    }
    if twist.late_count {
        state.step += 1;
    }
    Ok(())
}

/// canopy's loss.
pub const REFERENCE_LOSS: fn(&Tensor, &Tensor) -> Result<Tensor> = REFERENCE.cross_entropy;
