//! Right answers that are not written as canopy's.

use candle_core::{Tensor, Var};
use grader::{Right, known};

use crate::{Lesson01, REFERENCE};

pub const RIGHT: &[Right<Lesson01>] = &[
    known!("1.1", "a loop over indices that starts at the bias", neuron: |x, w, b, f| {
        let mut sum = b;
        for i in 0..x.len() {
            sum += w[i] * x[i];
        }
        f(sum)
    }),
    known!("1.1", "summed in f64, from the last", neuron: |x, w, b, f| {
        let sum: f64 = x.iter().zip(w).rev().map(|(&x, &w)| f64::from(x) * f64::from(w)).sum();
        f((sum + f64::from(b)) as f32)
    }),
    known!("1.2", "log_sum_exp less the label's logit", cross_entropy: |x, y| {
        let hit = x.gather(&y.unsqueeze(1)?, 1)?.squeeze(1)?;
        (x.log_sum_exp(1)? - hit)?.mean_all()
    }),
    known!("1.2", "a mask of ones in place of gather", cross_entropy: |x, y| {
        let (rows, classes) = x.dims2()?;
        let column = Tensor::arange(0u32, classes as u32, x.device())?.broadcast_as((rows, classes))?;
        let mask = column.broadcast_eq(&y.unsqueeze(1)?)?.to_dtype(x.dtype())?;
        let top = x.max_keepdim(1)?;
        let low = x.broadcast_sub(&top)?;
        let log_p = low.broadcast_sub(&low.exp()?.sum_keepdim(1)?.log()?)?;
        (log_p * mask)?.sum_all()? / -(rows as f64)
    }),
    known!("1.3", "the step added, turned round", sgd_step: |p, g, lr| {
        p.iter().zip(g).try_for_each(|(p, g)| p.set(&(g.affine(-lr, 0.0)? + p.as_detached_tensor())?))
    }),
    known!("1.4", "the velocity turned round at the end", momentum_step: |p, g, v, lr, mu| {
        for i in 0..p.len() {
            v[i].set(&(&g[i] + v[i].affine(mu, 0.0)?)?)?;
            p[i].set(&(p[i].as_detached_tensor() + v[i].as_detached_tensor().affine(-lr, 0.0)?)?)?;
        }
        Ok(())
    }),
    known!("1.5", "all parameters' means first, as new variables", adam_step: |p, g, s, lr, c| {
        s.step += 1;
        let t = s.step as i32;
        for (mean, g) in s.mean.iter_mut().zip(g) {
            *mean = Var::from_tensor(&(mean.affine(c.beta1, 0.0)? + g.affine(1.0 - c.beta1, 0.0)?)?)?;
        }
        for (square, g) in s.square.iter_mut().zip(g) {
            *square = Var::from_tensor(&(square.affine(c.beta2, 0.0)? + (g * g)?.affine(1.0 - c.beta2, 0.0)?)?)?;
        }
        for ((p, m), v) in p.iter().zip(&s.mean).zip(&s.square) {
            let root = (v.as_detached_tensor() / (1.0 - c.beta2.powi(t)))?.sqrt()?;
            let step = ((m.as_detached_tensor() * (lr / (1.0 - c.beta1.powi(t))))? / (root + c.eps)?)?;
            p.set(&(p.as_detached_tensor() - step)?)?;
        }
        Ok(())
    }),
    known!("1.5", "the corrections moved into the rate", adam_step: |p, g, s, lr, c| {
        s.step += 1;
        let t = s.step as i32;
        let root = (1.0 - c.beta2.powi(t)).sqrt();
        for i in 0..p.len() {
            let (m, v) = (s.mean[i].as_detached_tensor(), s.square[i].as_detached_tensor());
            let m = (&m + ((&g[i] - &m)? * (1.0 - c.beta1))?)?;
            let v = (&v + ((g[i].sqr()? - &v)? * (1.0 - c.beta2))?)?;
            s.mean[i].set(&m)?;
            s.square[i].set(&v)?;
            let step = (m * (lr * root / (1.0 - c.beta1.powi(t))))? / (v.sqrt()? + c.eps * root)?;
            p[i].set(&(p[i].as_detached_tensor() - step?)?)?;
        }
        Ok(())
    }),
    known!("1.6", "counted up", iterations: |n, size, drop| {
        let full = n / size;
        let rest = usize::from(!n.is_multiple_of(size));
        if drop && full > 0 { full } else { full + rest }
    }),
];
