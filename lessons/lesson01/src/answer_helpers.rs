//! Building blocks of wrong answers, and of right ones that are written another way.

use candle_core::{DType, Result, Tensor, Var};
use canopy::optim::{AdamConfig, AdamState};

use crate::REFERENCE;

pub fn dot(x: &[f32], w: &[f32]) -> f32 {
    x.iter().zip(w).map(|(x, w)| x * w).sum()
}

/// `change` of each parameter and its gradient.
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

/// The loss by way of x − `shift`, with a column of shifts.
pub fn shifted(x: &Tensor, shift: &Tensor, labels: &Tensor) -> Result<Tensor> {
    let low = x.broadcast_sub(shift)?;
    picked(&low.broadcast_sub(&low.exp()?.sum_keepdim(1)?.log()?)?, labels)
}

/// Softmax without an overflow.
pub fn softmax(x: &Tensor) -> Result<Tensor> {
    let e = x.broadcast_sub(&x.max_keepdim(1)?)?.exp()?;
    e.broadcast_div(&e.sum_keepdim(1)?)
}

/// 1 in the column of each row's label, 0 elsewhere, in u8.
pub fn one_hot(x: &Tensor, labels: &Tensor) -> Result<Tensor> {
    let column = Tensor::arange(0u32, x.dim(1)? as u32, x.device())?;
    column
        .broadcast_as(x.shape())?
        .broadcast_eq(&labels.unsqueeze(1)?)
}

/// Momentum steps that differ in the velocity that is kept and in the direction that is gone: `rule(w, g, v)` gives the next
/// velocity and the next parameter.
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

/// Whether all numbers are 0.
pub fn is_zero(tensor: &Tensor) -> Result<bool> {
    let sum = tensor.abs()?.sum_all()?.to_dtype(DType::F64)?;
    Ok(sum.to_scalar::<f64>()? == 0.0)
}

/// What a step of Adam is computed from. m and v are the old ones in `mean` and `square`, and the new ones in `next`.
pub struct Now<'a> {
    pub w: Tensor,
    pub g: &'a Tensor,
    pub m: Tensor,
    pub v: Tensor,
    /// m and v before the step.
    pub old: [Tensor; 2],
    pub t: f64,
    pub lr: f64,
    pub c: &'a AdamConfig,
}

impl Now<'_> {
    pub fn first(&self) -> f64 {
        1.0 - self.c.beta1.powf(self.t)
    }

    pub fn second(&self) -> f64 {
        1.0 - self.c.beta2.powf(self.t)
    }

    /// √v̂.
    pub fn root(&self) -> Result<Tensor> {
        (&self.v / self.second())?.sqrt()
    }

    /// w − lr·`up`/`below`.
    pub fn step(&self, up: Tensor, below: Tensor) -> Result<Tensor> {
        &self.w - ((up / below)? * self.lr)?
    }

    /// The same part of the step, computed in f32.
    pub fn in_f32(&self, part: Part) -> Result<Tensor> {
        let f = |t: &Tensor| t.to_dtype(DType::F32);
        let narrow = Now {
            w: f(&self.w)?,
            g: &f(self.g)?,
            m: f(&self.m)?,
            v: f(&self.v)?,
            old: [f(&self.old[0])?, f(&self.old[1])?],
            ..*self
        };
        part(&narrow)?.to_dtype(self.w.dtype())
    }

    /// The step with `first` and `second` for both corrections.
    pub fn corrected(&self, first: f64, second: f64) -> Result<Tensor> {
        let below = ((&self.v / second)?.sqrt()? + self.c.eps)?;
        self.step((&self.m / first)?, below)
    }
}

type Part = fn(&Now<'_>) -> Result<Tensor>;

/// What a wrong Adam does differently.
#[derive(Clone, Copy)]
pub struct Twist {
    pub mean: Part,
    pub square: Part,
    pub next: Part,
    /// t for parameter i, from the steps counted before the call.
    pub time: fn(u64, usize) -> u64,
    /// What the call adds to the count, from the number of parameters.
    pub counts: fn(usize) -> u64,
    /// Whether m and v are stored.
    pub keeps: [bool; 2],
}

pub const ADAM: Twist = Twist {
    mean: |a| (&a.m * a.c.beta1)? + (a.g * (1.0 - a.c.beta1))?,
    square: |a| (&a.v * a.c.beta2)? + (a.g.sqr()? * (1.0 - a.c.beta2))?,
    next: |a| a.corrected(a.first(), a.second()),
    time: |step, _| step + 1,
    counts: |_| 1,
    keeps: [true, true],
};

pub fn twisted(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &AdamConfig,
    twist: Twist,
) -> Result<()> {
    for (i, (p, g)) in params.iter().zip(grads).enumerate() {
        let old = [&state.mean[i], &state.square[i]].map(Var::as_detached_tensor);
        let mut now = Now {
            w: p.as_detached_tensor(),
            g,
            m: old[0].clone(),
            v: old[1].clone(),
            old,
            t: (twist.time)(state.step, i) as f64,
            lr,
            c: config,
        };
        now.m = (twist.mean)(&now)?;
        now.v = (twist.square)(&now)?;
        p.set(&(twist.next)(&now)?)?;
        if twist.keeps[0] {
            state.mean[i].set(&now.m)?;
        }
        if twist.keeps[1] {
            state.square[i].set(&now.v)?;
        }
    }
    state.step += (twist.counts)(params.len());
    Ok(())
}

/// canopy's loss.
pub const REFERENCE_LOSS: fn(&Tensor, &Tensor) -> Result<Tensor> = REFERENCE.cross_entropy;
