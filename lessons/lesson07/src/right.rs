//! Right answers that are not written as canopy's.

use candle_core::{Result, Tensor};
use canopy::schedule::Decay;
use grader::{Right, right};

use crate::{Lesson07, REFERENCE, answer_helpers::*};

pub const RIGHT: &[Right<Lesson07>] = &[
    right!("7.1", "a mean of both ends, weighted by the share done", scaled_warmup: |t, n, base, b, r| {
        let done = if t >= n { 1.0 } else { t as f64 / n as f64 };
        let k = b as f64 / r as f64;
        base * ((1.0 - done) + k * done)
    }),
    right!("7.2", "by the share of each phase, from its beginning", one_cycle: |c, t| {
        cycle_by(c, t, phase(c), half_cosine, last_rate(c))
    }),
    right!("7.3", "a loop over the steps, multiplied at each fall", decayed: |d, t, gamma, base| {
        let mut rate = base;
        for step in 1..=t {
            let falls = match d {
                Decay::Step(size) => u32::from(step.is_multiple_of((*size).max(1))),
                Decay::Milestones(list) => list.iter().filter(|&&m| m == step).count() as u32,
                Decay::Exponential => 1,
            };
            rate *= gamma.powi(falls as i32);
        }
        rate
    }),
    right!("7.4", "with the falls in a list", range_test: |r, s, b, f| tested(r, s, b, f, Test {
        pick: |l| falls(l).into_iter().rev().max_by_key(|f| f.1).filter(|f| f.1 > 1).map(|(s, n)| s + n / 3 + n / 6),
        ..TEST
    })),
    right!("7.5", "ratio and step as two functions, norms in f64", lars_step: |p, g, v, lr, c| {
        lars_by((p, g, v), c, trusted(c.trust), moved(lr, c.momentum))
    }),
    right!("7.6", "as the paper writes it", lamb_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, LAMB)),
    right!("7.7", "shares first, then a sum", accumulated: |w, f| {
        let total: f64 = w.iter().sum();
        summed(w.len(), f, |i| w[i] / total)
    }),
    right!("7.7", "divided at the end", accumulated: |w, f| {
        let sum = summed(w.len(), f, |i| w[i])?;
        let total: f64 = w.iter().sum();
        sum.into_iter().map(|g: Tensor| g / total).collect::<Result<Vec<_>>>()
    }),
    right!("7.8", "filter by filter", loss_along: |p, d, a, f| losses_along((p, d, a), f, stretched)),
];
