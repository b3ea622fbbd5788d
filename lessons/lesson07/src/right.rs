//! Right answers that are not written as canopy's.

use std::f64::consts::FRAC_PI_2;

use candle_core::{DType, Result, Tensor};
use canopy::{optim::AdamState, schedule::Decay};
use grader::{Right, known};

use crate::{Lesson07, REFERENCE};

fn norm(t: &Tensor) -> Result<f64> {
    t.to_dtype(DType::F64)?.sqr()?.sum_all()?.sqrt()?.to_scalar()
}

pub const RIGHT: &[Right<Lesson07>] = &[
    known!("7.1", "a mean of both ends, weighted by the share done", scaled_warmup: |t, n, base, b, r| {
        let done = if t >= n { 1.0 } else { t as f64 / n as f64 };
        let k = b as f64 / r as f64;
        base * ((1.0 - done) + k * done)
    }),
    known!("7.2", "by a squared sine, from the ends to the peak", one_cycle: |c, t| {
        let (first, x) = (c.max / c.first_divisor, t as f64);
        let (top, end) = (c.rising * c.total as f64 - 1.0, c.total as f64 - 1.0);
        let rises = x <= top;
        let from = if rises { first } else { first / c.last_divisor };
        let share = if rises { x / top } else { (end - x) / (end - top) };
        let s = (FRAC_PI_2 * share).sin().powi(2);
        let momentum = c.greatest_momentum + (c.least_momentum - c.greatest_momentum) * s;
        (t < c.total).then_some((from + (c.max - from) * s, momentum))
    }),
    known!("7.3", "a loop over the steps, multiplied at each fall", decayed: |d, t, gamma, base| {
        let falls = |step: u64| match d {
            Decay::Step(size) => i32::from(step.is_multiple_of(*size)),
            Decay::Milestones(list) => list.iter().filter(|&&m| m == step).count() as i32,
            Decay::Exponential => 1,
        };
        (1..=t).fold(base, |rate, step| rate * gamma.powi(falls(step)))
    }),
    known!("7.4", "with the length of the fall that ends at each loss", range_test: |rates, beta, breaks, train| {
        let mut found = (REFERENCE.range_test)(rates, beta, breaks, train);
        let mut falls: Vec<usize> = Vec::new();
        for (i, loss) in found.losses.iter().enumerate() {
            let lower = i > 0 && *loss < found.losses[i - 1];
            falls.push(if lower { falls[i - 1] + 1 } else { 1 });
        }
        let longest = (0..falls.len()).rev().max_by_key(|&i| falls[i]).filter(|&i| falls[i] > 1);
        found.suggestion = longest.map(|end| rates[end + 1 - falls[end] + falls[end] / 3 + falls[end] / 6]);
        found
    }),
    known!("7.5", "norms in f64, g and λ·w multiplied one by one", lars_step: |p, g, v, lr, c| {
        for i in 0..p.len() {
            let w = p[i].as_detached_tensor();
            let adapted = w.rank() > 1 || c.vectors;
            let decay = if adapted { c.weight_decay } else { 0.0 };
            let (long, slope) = (norm(&w)?, norm(&g[i])?);
            let plain = !adapted || long == 0.0 || slope == 0.0;
            let rate = lr * if plain { 1.0 } else { c.trust * long / (slope + decay * long) };
            let step = ((&g[i] * rate)? + (&w * (rate * decay))?)?;
            v[i].set(&(v[i].affine(c.momentum, 0.0)? + step)?)?;
            p[i].set(&(w - v[i].as_detached_tensor())?)?;
        }
        Ok(())
    }),
    known!("7.6", "one parameter after the other, from the last", lamb_step: |p, g, s, lr, c| {
        for i in (0..p.len()).rev() {
            let [mean, square] = [&s.mean, &s.square].map(|vars| vec![vars[i].clone()]);
            let mut own = AdamState { step: s.step, mean, square };
            (REFERENCE.lamb_step)(&p[i..=i], &g[i..=i], &mut own, lr, c)?;
        }
        s.step += 1;
        Ok(())
    }),
    known!("7.7", "divided at the end", accumulated: |w, f| {
        let mut sum = f(0)?.iter().map(|g| g * w[0]).collect::<Result<Vec<_>>>()?;
        for i in 1..w.len() {
            for (sum, g) in sum.iter_mut().zip(f(i)?) {
                *sum = (&*sum + (g * w[i])?)?;
            }
        }
        let total: f64 = w.iter().sum();
        sum.into_iter().map(|sum| sum / total).collect()
    }),
    known!("7.8", "restored after each look", loss_along: |params, directions, alphas, loss| {
        let look = |&alpha: &f64| Ok((REFERENCE.loss_along)(params, directions, &[alpha], loss)?[0]);
        alphas.iter().map(look).collect()
    }),
];
