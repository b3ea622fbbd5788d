//! Complete wrong answers to exercise 7.8.

use candle_core::{Result, Tensor, Var};

use crate::answer_helpers::*;

type Looks<'a> = &'a mut dyn FnMut() -> Result<f64>;

pub fn from_the_last(p: &[Var], d: &[Tensor], a: &[f64], f: Looks<'_>) -> Result<Vec<f64>> {
    let start = p
        .iter()
        .map(|p| p.as_tensor().copy())
        .collect::<Result<Vec<_>>>()?;
    let mut at = 0.0;
    let sums: Vec<f64> = a
        .iter()
        .map(|a| {
            at += a;
            at
        })
        .collect();
    let losses = walked((p, d, &sums), f, stretched);
    p.iter().zip(&start).try_for_each(|(p, w)| p.set(w))?;
    losses
}

pub fn zeros_divided(p: &[Var], d: &[Tensor], a: &[f64], f: Looks<'_>) -> Result<Vec<f64>> {
    walked((p, d, a), f, |w, d| {
        if w.rank() < 2 {
            return d.zeros_like();
        }
        let length = |t: &Tensor| t.flatten_from(1)?.sqr()?.sum_keepdim(1)?.sqrt();
        let flat = d.flatten_from(1)?.broadcast_mul(&(length(w)? / length(d)?)?)?;
        flat.reshape(d.shape())
    })
}

pub fn taken_off(p: &[Var], d: &[Tensor], a: &[f64], f: Looks<'_>) -> Result<Vec<f64>> {
    let ways = p
        .iter()
        .zip(d)
        .map(|(p, d)| stretched(p, d))
        .collect::<Result<Vec<_>>>()?;
    let go = |a: f64| {
        p.iter()
            .zip(&ways)
            .try_for_each(|(p, way)| p.set(&(p.as_detached_tensor() + (way * a)?)?))
    };
    a.iter()
        .map(|&a| {
            go(a)?;
            let loss = f();
            go(-a)?;
            loss
        })
        .collect()
}

pub fn stays(p: &[Var], d: &[Tensor], a: &[f64], f: Looks<'_>) -> Result<Vec<f64>> {
    let start = p
        .iter()
        .map(|p| p.as_tensor().copy())
        .collect::<Result<Vec<_>>>()?;
    let go = |a: f64| {
        p.iter()
            .zip(&start)
            .zip(d)
            .try_for_each(|((p, w), d)| p.set(&(w + (stretched(w, d)? * a)?)?))
    };
    a.iter()
        .map(|&a| {
            go(a)?;
            f()
        })
        .collect()
}

pub fn left_early(p: &[Var], d: &[Tensor], a: &[f64], f: Looks<'_>) -> Result<Vec<f64>> {
    let start = p
        .iter()
        .map(|p| p.as_tensor().copy())
        .collect::<Result<Vec<_>>>()?;
    let mut losses = Vec::new();
    for &a in a {
        for ((p, w), d) in p.iter().zip(&start).zip(d) {
            p.set(&(w + (stretched(w, d)? * a)?)?)?;
        }
        losses.push(f()?);
    }
    p.iter().zip(&start).try_for_each(|(p, w)| p.set(w))?;
    Ok(losses)
}

pub fn one_long(p: &[Var], d: &[Tensor], a: &[f64], f: Looks<'_>) -> Result<Vec<f64>> {
    walked((p, d, a), f, |w, d| {
        let ones = w.ones_like()?;
        let n = (w.elem_count() / w.dim(0)?) as f64;
        stretched(&(ones / n.sqrt())?, d)
    })
}
