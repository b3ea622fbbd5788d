//! Complete wrong answers to exercise 7.6.

use candle_core::{Result, Tensor, Var};
use canopy::optim::{AdamState, LambConfig};

use crate::{REFERENCE, answer_helpers::*};

/// r of each parameter, with both means updated.
fn directions(p: &[Var], g: &[Tensor], s: &mut AdamState, c: &LambConfig) -> Result<Vec<Tensor>> {
    s.step += 1;
    let t = s.step as f64;
    let of = |(i, g): (usize, &Tensor)| {
        let m = ((s.mean[i].as_detached_tensor() * c.beta1)? + (g * (1.0 - c.beta1))?)?;
        let v = ((s.square[i].as_detached_tensor() * c.beta2)? + (g.sqr()? * (1.0 - c.beta2))?)?;
        s.mean[i].set(&m)?;
        s.square[i].set(&v)?;
        let below = ((v / (1.0 - c.beta2.powf(t)))?.sqrt()? + c.eps)?;
        ((m / (1.0 - c.beta1.powf(t)))? / below)? + (p[i].as_detached_tensor() * c.weight_decay)?
    };
    g.iter().enumerate().map(of).collect()
}

fn step(p: &[Var], r: Vec<Tensor>, lr: f64, ratio: impl Fn(&Tensor) -> Result<f64>) -> Result<()> {
    for (p, r) in p.iter().zip(r) {
        let factor = lr * ratio(&r)?;
        p.set(&(p.as_detached_tensor() - (r * factor)?)?)?;
    }
    Ok(())
}

/// The norm of all weights over that of each direction.
pub fn one_norm(p: &[Var], g: &[Tensor], s: &mut AdamState, lr: f64, c: &LambConfig) -> Result<()> {
    let long = norm_of_all(p.iter().map(|p| p.as_tensor()))?;
    let r = directions(p, g, s, c)?;
    step(p, r, lr, |r| Ok((LAMB.ratio)(long, norm(r)?, 0.0)))
}

/// The norm of all weights over that of all directions.
pub fn one_ratio(p: &[Var], g: &[Tensor], s: &mut AdamState, lr: f64, c: &LambConfig) -> Result<()> {
    let long = norm_of_all(p.iter().map(|p| p.as_tensor()))?;
    let r = directions(p, g, s, c)?;
    let short = norm_of_all(&r)?;
    step(p, r, lr, |_| Ok((LAMB.ratio)(long, short, 0.0)))
}

/// The corrected means in the state.
pub fn stores_corrected(p: &[Var], g: &[Tensor], s: &mut AdamState, lr: f64, c: &LambConfig) -> Result<()> {
    twisted(p, g, s, lr, c, LAMB)?;
    let [first, second] = [c.beta1, c.beta2].map(|beta| 1.0 - beta.powf(s.step as f64));
    for (m, v) in s.mean.iter().zip(&s.square) {
        m.set(&(m.as_tensor() / first)?)?;
        v.set(&(v.as_tensor() / second)?)?;
    }
    Ok(())
}

/// Keeps only the means that are named.
pub fn keeps(
    p: &[Var],
    g: &[Tensor],
    s: &mut AdamState,
    lr: f64,
    c: &LambConfig,
    mean: bool,
    square: bool,
) -> Result<()> {
    let copies = |vars: &[Var]| {
        vars.iter()
            .map(|v| v.as_tensor().copy())
            .collect::<Result<Vec<_>>>()
    };
    let before = [copies(&s.mean)?, copies(&s.square)?];
    (REFERENCE.lamb_step)(p, g, s, lr, c)?;
    for ((vars, before), keep) in [&s.mean, &s.square].into_iter().zip(&before).zip([mean, square]) {
        if !keep {
            vars.iter().zip(before).try_for_each(|(v, old)| v.set(old))?;
        }
    }
    Ok(())
}
