//! The backward pass, from the last layer to the first.
//!
//! For a stored layer over M rows, let A be its input, y = A·Wᵀ, x̂ the normalised y and u = γ/σ. Let g be the gradient
//! of the layer's output, set to 0 wherever the ReLU's output is 0 (masked). Then dβ = Σg, dγ = Σg·x̂, dy = u·(g − dβ/M
//! − x̂·dγ/M), dW = dyᵀA and dA = dy·W. Each layer's pass over the rows computes dy in the cache and adds to dW. It
//! stores dA masked by the ReLU of the layer before, and computes that layer's sums dβ and dγ at the same time. A layer
//! that is batch norm alone has no dW, and dA = dy.

use candle_core::{Result, Tensor};
use rayon::prelude::*;

use super::Batch;
use super::layer::{BLOCK, Layer, Source, crop, group_rows, pad};
use super::widest::Widest;
use crate::kernels::operand::{self, Operand, Words};
use crate::kernels::pool::{self, Pooled};
use crate::kernels::ranks;
use crate::kernels::values::Values;
use crate::kernels::vector;

/// What the forward pass saved.
pub struct Saved<T> {
    /// The input, in padded rows.
    pub x: Tensor,
    pub batch: Batch,
    pub layers: Vec<Layer<T>>,
    pub widest: Option<Widest>,
}

/// Sums over the rows of a layer: dβ and dγ.
pub struct Sums {
    pub beta: Vec<f32>,
    pub gamma: Vec<f32>,
}

/// The gradient of a layer's activation, masked by its ReLU, and its sums. Below the first layer, the gradient of the
/// operator's input, without sums.
pub struct Below {
    pub gradient: Vec<f32>,
    pub sums: Sums,
}

impl<T: Operand> Saved<T> {
    /// The gradients of x and of each layer's weight, γ and β.
    pub fn backward(&self, gradient: Vec<f32>, wanted: &[bool]) -> Result<Vec<Option<Vec<f32>>>> {
        let x = Values::of(&self.x)?;
        let mut out: Vec<Option<Vec<f32>>> = vec![None; wanted.len()];
        let last = self.layers.len() - 1;
        let (mut level, mut below) = match &self.widest {
            None => (last + 1, Some(self.top(gradient, last))),
            Some(widest) => {
                let (dw, sums, below) = self.under_max(&x, widest, &gradient, last > 0 || wanted[0])?;
                self.put(&mut out, last, dw, sums);
                (last, below)
            }
        };
        while level > 0 {
            let Some(above) = below.take() else { break };
            level -= 1;
            let (dw, next) = self.stored(&x, level, &above, level > 0 || wanted[0])?;
            pool::give(above.gradient);
            self.put(&mut out, level, dw, above.sums);
            below = next;
        }
        let first = &self.layers[0];
        out[0] = below
            .filter(|_| wanted[0])
            .map(|below| crop(below.gradient, first.kp, first.k));
        Ok(out)
    }

    /// A layer's dβ and dγ over the rows of all ranks, because the gradient through the batch statistics depends on
    /// them. The gradients of the parameters β and γ are this rank's own sums.
    pub fn of_all(&self, own: &Sums) -> Result<Sums> {
        let mut sums: Vec<f64> = own.beta.iter().chain(&own.gamma).map(|&v| f64::from(v)).collect();
        ranks::total(self.batch.sums.as_ref(), &mut sums)?;
        let (beta, gamma) = sums.split_at(own.beta.len());
        let single = |v: &[f64]| v.iter().map(|&v| v as f32).collect();
        Ok(Sums {
            beta: single(beta),
            gamma: single(gamma),
        })
    }

    /// Writes the gradients of one layer's parameters, without padding, to `out`, which is in the order of the inputs.
    fn put(&self, out: &mut [Option<Vec<f32>>], level: usize, mut dw: Vec<f32>, mut sums: Sums) {
        let l = &self.layers[level];
        let at = out.len() - 3 * (self.layers.len() - level);
        if l.is_linear() {
            T::round(&mut dw);
            dw.truncate(l.n * l.kp);
            out[at] = Some(crop(dw, l.kp, l.k));
        }
        sums.gamma.truncate(l.n);
        sums.beta.truncate(l.n);
        out[at + 1] = Some(sums.gamma);
        out[at + 2] = Some(sums.beta);
    }

    /// The gradient of the operator's output, masked by the ReLU of the last layer, and its sums.
    fn top(&self, gradient: Vec<f32>, last: usize) -> Below {
        let l = &self.layers[last];
        let mut g = match l.n == l.np {
            true => gradient,
            false => pad(&gradient, l.n),
        };
        let group = group_rows(self.batch.rows);
        let sums: Vec<Sums> = g
            .par_chunks_mut(group * l.np)
            .enumerate()
            .map(|(i, g)| {
                let mut sums = Sums::zeros(l.np);
                self.mask(last, i * group, g, &mut sums);
                sums
            })
            .collect();
        Below {
            gradient: g,
            sums: Sums::total(&sums),
        }
    }

    /// Masks `g`, the gradient of layer `level`'s activation from row `from` on, and adds to the layer's `sums`.
    pub fn mask(&self, level: usize, from: usize, g: &mut [f32], sums: &mut Sums) {
        let l = &self.layers[level];
        let y = &l.y[from * l.np..from * l.np + g.len()];
        let Sums { beta, gamma } = sums;
        vector::mask_and_sum(g, y, &l.scale, &l.shift, &l.mean, &l.rstd, l.relu, beta, gamma);
    }

    pub fn source<'a>(&'a self, x: &'a [f32], level: usize) -> Source<'a, T> {
        Source::of(x, &self.layers[..level], &self.layers[level])
    }

    /// The backward pass of one stored layer: returns dW and, if `deeper`, the gradient for the layer below.
    fn stored(
        &self,
        x: &[f32],
        level: usize,
        above: &Below,
        deeper: bool,
    ) -> Result<(Vec<f32>, Option<Below>)> {
        let l = &self.layers[level];
        let (np, kp) = (l.np, l.kp);
        let source = self.source(x, level);
        let [a, b] = norm_terms(l, &self.of_all(&above.sums)?, self.batch.all_rows);
        let linear = l.is_linear();
        let weight = l.weight()?;
        let right = deeper.then(|| T::right(&weight[..], kp));
        let group = group_rows(self.batch.rows);
        let groups = self.batch.rows.div_ceil(group);
        let mut down = pool::take(if deeper { self.batch.rows * kp } else { 0 });
        let mut parts: Vec<&mut [f32]> = down.chunks_mut(group * kp).collect();
        parts.resize_with(groups, Default::default);
        let sums: Vec<(Pooled<f32>, Sums)> = parts
            .into_par_iter()
            .enumerate()
            .map_init(
                || (Vec::new(), Vec::new(), Words::<T>::default()),
                |(numbers, dy, words), (g, down)| {
                    let mut dw = Pooled::new(weight.len());
                    dw.fill(0.0);
                    let mut sums = Sums::zeros(if deeper { kp } else { 0 });
                    let end = self.batch.rows.min((g + 1) * group);
                    for from in (g * group..end).step_by(BLOCK) {
                        let to = end.min(from + BLOCK);
                        let rows = to - from;
                        let range = from * np..to * np;
                        dy.resize(range.len(), T::default());
                        let (g_above, y) = (&above.gradient[range.clone()], &l.y[range]);
                        vector::before_norm(dy, g_above, y, &l.mean, &l.scale, &a, &b);
                        if linear {
                            let a = source.operand(from, to, numbers);
                            operand::add_transposed(l.unit, [np, rows, kp], dy, Some(a), &mut dw, words);
                        }
                        if let Some(right) = &right {
                            let offset = (from - g * group) * kp;
                            let down = &mut down[offset..offset + rows * kp];
                            if linear {
                                operand::multiply(l.unit, [rows, np, kp], dy, right, down, false);
                            } else {
                                vector::convert(down, dy);
                            }
                            T::round(down);
                            if level > 0 {
                                self.mask(level - 1, from, down, &mut sums);
                            }
                        }
                    }
                    (dw, sums)
                },
            )
            .collect();
        let (dws, sums): (Vec<Pooled<f32>>, Vec<Sums>) = sums.into_iter().unzip();
        let below = deeper.then(|| Below {
            gradient: down,
            sums: Sums::total(&sums),
        });
        Ok((total(&dws), below))
    }
}

/// The terms a and b of `dy = u·g + a + b·(y − mean)`; u is the layer's scale.
fn norm_terms<T>(l: &Layer<T>, sums: &Sums, m: f64) -> [Vec<f32>; 2] {
    let of = |f: &dyn Fn(usize) -> f64| (0..l.np).map(|c| f(c) as f32).collect::<Vec<f32>>();
    let a = of(&|c| -f64::from(l.scale[c]) * f64::from(sums.beta[c]) / m);
    let b = of(&|c| -f64::from(l.scale[c]) * f64::from(l.rstd[c]) * f64::from(sums.gamma[c]) / m);
    [a, b]
}

impl Sums {
    pub fn zeros(channels: usize) -> Self {
        Self {
            beta: vec![0.0; channels],
            gamma: vec![0.0; channels],
        }
    }

    /// Adds the sums of the groups in f64, in the order of the groups.
    pub fn total(parts: &[Self]) -> Self {
        let channels = parts.first().map_or(0, |p| p.beta.len());
        let sum = |pick: fn(&Self) -> &[f32]| {
            let of = |c: usize| parts.iter().map(|p| f64::from(pick(p)[c])).sum::<f64>() as f32;
            (0..channels).map(of).collect()
        };
        Self {
            beta: sum(|p| &p.beta),
            gamma: sum(|p| &p.gamma),
        }
    }
}

/// Adds the weight gradients of the groups, in the order of the groups.
fn total(parts: &[Pooled<f32>]) -> Vec<f32> {
    let mut sum = vec![0.0; parts.first().map_or(0, |p| p.len())];
    sum.par_chunks_mut(1024).enumerate().for_each(|(i, sum)| {
        for part in parts {
            vector::add(sum, &part[i * 1024..][..sum.len()]);
        }
    });
    sum
}
