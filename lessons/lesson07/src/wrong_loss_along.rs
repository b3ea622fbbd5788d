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
    let losses = losses_along((p, d, &sums), f, stretched);
    p.iter().zip(&start).try_for_each(|(p, w)| p.set(w))?;
    losses
}

pub fn zeros_divided(p: &[Var], d: &[Tensor], a: &[f64], f: Looks<'_>) -> Result<Vec<f64>> {
    losses_along((p, d, a), f, |w, d| {
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
    losses_along((p, d, a), f, |w, d| {
        if w.rank() < 2 {
            return d.zeros_like();
        }
        let ones = w.ones_like()?;
        let n = (w.elem_count() / w.dim(0)?) as f64;
        stretched(&(ones / n.sqrt())?, d)
    })
}

/// Each entry of `d` times length(w)/length(d), with `length` of a matrix as a column or row; vectors stay.
fn by(w: &Tensor, d: &Tensor, factor: impl Fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    if w.rank() < 2 {
        return d.zeros_like();
    }
    let (w, flat) = (w.flatten_from(1)?, d.flatten_from(1)?);
    flat.broadcast_mul(&factor(&w, &flat)?)?.reshape(d.shape())
}

/// Lengths, with 1 for 0.
fn safe(lengths: Tensor) -> Result<Tensor> {
    &lengths + lengths.eq(0.0)?.to_dtype(lengths.dtype())?
}

pub fn by_columns(w: &Tensor, d: &Tensor) -> Result<Tensor> {
    let length = |t: &Tensor| t.sqr()?.sum_keepdim(0)?.sqrt();
    by(w, d, |w, d| length(w)? / safe(length(d)?)?)
}

pub fn by_last_axis(w: &Tensor, d: &Tensor) -> Result<Tensor> {
    if w.rank() < 2 {
        return d.zeros_like();
    }
    let length = |t: &Tensor| t.sqr()?.sum_keepdim(t.rank() - 1)?.sqrt();
    d.broadcast_mul(&(length(w)? / safe(length(d)?)?)?)
}

pub fn by_sums(w: &Tensor, d: &Tensor) -> Result<Tensor> {
    let length = |t: &Tensor| t.abs()?.sum_keepdim(1);
    by(w, d, |w, d| length(w)? / safe(length(d)?)?)
}

pub fn upside_down(w: &Tensor, d: &Tensor) -> Result<Tensor> {
    let length = |t: &Tensor| t.sqr()?.sum_keepdim(1)?.sqrt();
    by(w, d, |w, d| length(d)? / safe(length(w)?)?)
}

pub fn ones_for_zeros(w: &Tensor, d: &Tensor) -> Result<Tensor> {
    if w.rank() < 2 {
        return d.zeros_like();
    }
    let flat = d.flatten_from(1)?;
    let zero = flat.sqr()?.sum_keepdim(1)?.eq(0.0)?.to_dtype(flat.dtype())?;
    stretched(w, &flat.broadcast_add(&zero)?.reshape(d.shape())?)
}

pub fn zero_weights(w: &Tensor, d: &Tensor) -> Result<Tensor> {
    let length = |t: &Tensor| t.sqr()?.sum_keepdim(1)?.sqrt();
    by(w, d, |w, d| {
        let (w, d) = (length(w)?, length(d)?);
        let factor = (&w / safe(d)?)?;
        safe(factor)
    })
}

pub fn squared(w: &Tensor, d: &Tensor) -> Result<Tensor> {
    let length = |t: &Tensor| t.sqr()?.sum_keepdim(1);
    by(w, d, |w, d| length(w)? / safe(length(d)?)?)
}

pub fn ones_for_both(w: &Tensor, d: &Tensor) -> Result<Tensor> {
    let length = |t: &Tensor| t.sqr()?.sum_keepdim(1)?.sqrt();
    by(w, d, |w, d| safe(length(w)?)? / safe(length(d)?)?)
}

pub fn by_second_axis(w: &Tensor, d: &Tensor) -> Result<Tensor> {
    if w.rank() < 2 {
        return d.zeros_like();
    }
    let length = |t: &Tensor| t.sqr()?.sum_keepdim(1)?.sqrt();
    d.broadcast_mul(&(length(w)? / safe(length(d)?)?)?)
}

/// With a small number added to the length of each filter of `d`.
pub fn softened(w: &Tensor, d: &Tensor, small: f64) -> Result<Tensor> {
    let length = |t: &Tensor| t.sqr()?.sum_keepdim(1)?.sqrt();
    by(w, d, |w, d| length(w)? / (length(d)? + small)?)
}

pub fn without_w(p: &[Var], d: &[Tensor], a: &[f64], f: Looks<'_>) -> Result<Vec<f64>> {
    let mut looks = losses_at(p, d, a, f, |_, way, a| way * a)?;
    looks.drain(..).collect()
}

pub fn renormalised(p: &[Var], d: &[Tensor], a: &[f64], f: Looks<'_>) -> Result<Vec<f64>> {
    let start = p
        .iter()
        .map(|p| p.as_tensor().copy())
        .collect::<Result<Vec<_>>>()?;
    let losses = a.iter().map(|&a| {
        for ((p, w), d) in p.iter().zip(&start).zip(d) {
            let way = stretched(&p.as_tensor().copy()?, d)?;
            p.set(&(w + (way * a)?)?)?;
        }
        f()
    });
    let losses = losses.collect();
    p.iter().zip(&start).try_for_each(|(p, w)| p.set(w))?;
    losses
}

pub fn goes_on(p: &[Var], d: &[Tensor], a: &[f64], f: Looks<'_>) -> Result<Vec<f64>> {
    let looks = losses_at(p, d, a, f, |w, way, a| w + (way * a)?)?;
    looks.into_iter().collect()
}

/// Every loss, with the parameters at `place(w, way, α)`, also after one has failed.
fn losses_at(
    p: &[Var],
    d: &[Tensor],
    a: &[f64],
    f: Looks<'_>,
    place: impl Fn(&Tensor, Tensor, f64) -> Result<Tensor>,
) -> Result<Vec<Result<f64>>> {
    let start = p
        .iter()
        .map(|p| p.as_tensor().copy())
        .collect::<Result<Vec<_>>>()?;
    let mut looks = Vec::new();
    for &a in a {
        for ((p, w), d) in p.iter().zip(&start).zip(d) {
            p.set(&place(w, stretched(w, d)?, a)?)?;
        }
        looks.push(f());
    }
    p.iter().zip(&start).try_for_each(|(p, w)| p.set(w))?;
    Ok(looks)
}
