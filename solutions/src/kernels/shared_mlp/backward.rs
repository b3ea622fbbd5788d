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
use crate::kernels::matrix::Matrix;
use crate::kernels::pool::{self, Pooled};
use crate::kernels::ranks;
use crate::kernels::tile::{Product, add_transposed};
use crate::kernels::values::Values;
use crate::kernels::vector;

/// What the forward pass saved.
pub struct Saved {
    /// The input, in padded rows.
    pub x: Tensor,
    pub batch: Batch,
    pub layers: Vec<Layer>,
    pub widest: Option<Widest>,
}

/// The gradient of a layer's activation, masked by its ReLU, and its sums over the rows: dβ, then dγ. Below the first layer,
/// the gradient of the operator's input, without sums.
pub struct Below {
    pub gradient: Vec<f32>,
    pub sums: Vec<f32>,
}

impl Saved {
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
        while level > 0
            && let Some(above) = below
        {
            level -= 1;
            let dw;
            (dw, below) = self.stored(&x, level, &above, level > 0 || wanted[0])?;
            pool::give(above.gradient);
            self.put(&mut out, level, dw, above.sums);
        }
        let first = &self.layers[0];
        out[0] = below
            .filter(|_| wanted[0])
            .map(|below| crop(below.gradient, first.kp, first.k));
        Ok(out)
    }

    /// A layer's dβ and dγ over the rows of all ranks, because the gradient through the batch statistics depends on
    /// them. The gradients of the parameters β and γ are this rank's own sums.
    pub fn of_all(&self, own: &[f32]) -> Result<Vec<f32>> {
        let mut sums: Vec<f64> = own.iter().copied().map(f64::from).collect();
        ranks::total(self.batch.sums.as_ref(), &mut sums)?;
        Ok(sums.into_iter().map(|v| v as f32).collect())
    }

    /// Writes the gradients of one layer's parameters, without padding, to `out`, which is in the order of the inputs.
    fn put(&self, out: &mut [Option<Vec<f32>>], level: usize, mut dw: Vec<f32>, sums: Vec<f32>) {
        let l = &self.layers[level];
        let at = out.len() - 3 * (self.layers.len() - level);
        if l.is_linear() {
            dw.truncate(l.n * l.kp);
            out[at] = Some(crop(dw, l.kp, l.k));
        }
        let (beta, gamma) = sums.split_at(sums.len() / 2);
        out[at + 1] = Some(gamma[..l.n].to_vec());
        out[at + 2] = Some(beta[..l.n].to_vec());
    }

    /// The gradient of the operator's output, masked by the ReLU of the last layer, and its sums.
    fn top(&self, gradient: Vec<f32>, last: usize) -> Below {
        let l = &self.layers[last];
        let mut g = match l.n == l.np {
            true => gradient,
            false => pad(&gradient, l.n),
        };
        let group = group_rows(self.batch.rows);
        let groups = g.par_chunks_mut(group * l.np).enumerate();
        let of_group = |(i, g): (usize, &mut [f32])| {
            let mut sums = vec![0.0; 2 * l.np];
            self.mask(last, i * group, g, &mut sums);
            sums
        };
        let sums: Vec<_> = groups.map(of_group).collect();
        Below {
            gradient: g,
            sums: sum_in_order(&sums),
        }
    }

    /// Masks `g`, the gradient of layer `level`'s activation from row `from` on, and adds to the layer's `sums`.
    pub fn mask(&self, level: usize, from: usize, g: &mut [f32], sums: &mut [f32]) {
        let l = &self.layers[level];
        let y = &l.y[from * l.np..from * l.np + g.len()];
        let (beta, gamma) = sums.split_at_mut(l.np);
        vector::mask_and_sum(g, y, &l.scale, &l.shift, &l.mean, &l.rstd, l.relu, beta, gamma);
    }

    pub fn source<'a>(&'a self, x: &'a [f32], level: usize) -> Source<'a> {
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
        // The terms of dy = u·g + a + b·(y − mean); u is the layer's scale.
        let (all, m) = (self.of_all(&above.sums)?, self.batch.all_rows);
        let term = |of: &dyn Fn(usize) -> f64| (0..np).map(|c| of(c) as f32).collect::<Vec<f32>>();
        let scale = |c: usize| -f64::from(l.scale[c]);
        let a = term(&|c| scale(c) * f64::from(all[c]) / m);
        let b = term(&|c| scale(c) * f64::from(l.rstd[c]) * f64::from(all[np + c]) / m);
        let linear = l.is_linear();
        let weight = l.weight()?;
        let group = group_rows(self.batch.rows);
        let groups = self.batch.rows.div_ceil(group);
        let mut down = pool::take(if deeper { self.batch.rows * kp } else { 0 });
        let mut parts: Vec<&mut [f32]> = down.chunks_mut(group * kp).collect();
        parts.resize_with(groups, Default::default);
        let (dws, sums): (Vec<Pooled>, Vec<Vec<f32>>) = parts
            .into_par_iter()
            .enumerate()
            .map_init(
                || (Vec::new(), Vec::new()),
                |(buffer, dy), (g, down)| {
                    let mut dw = Pooled::new(weight.len());
                    dw.fill(0.0);
                    let mut sums = vec![0.0; if level > 0 { 2 * kp } else { 0 }];
                    let end = self.batch.rows.min((g + 1) * group);
                    for from in (g * group..end).step_by(BLOCK) {
                        let to = end.min(from + BLOCK);
                        let rows = to - from;
                        let range = from * np..to * np;
                        dy.resize(range.len(), 0.0);
                        let (g_above, y) = (&above.gradient[range.clone()], &l.y[range]);
                        vector::before_norm(dy, g_above, y, &l.mean, &l.scale, &a, &b);
                        if linear {
                            let a = source.rows(from, to, buffer);
                            add_transposed([np, rows, kp], dy, Some(a), &mut dw);
                        }
                        if deeper {
                            let offset = (from - g * group) * kp;
                            let down = &mut down[offset..offset + rows * kp];
                            if linear {
                                Product::new([rows, np, kp], Matrix::dense(dy, np), &weight, down).run();
                            } else {
                                down.copy_from_slice(dy);
                            }
                            if level > 0 {
                                self.mask(level - 1, from, down, &mut sums);
                            }
                        }
                    }
                    (dw, sums)
                },
            )
            .unzip();
        let below = deeper.then(|| Below {
            gradient: down,
            sums: sum_in_order(&sums),
        });
        Ok((total(&dws), below))
    }
}

/// Adds the sums of the groups in f64, in the order of the groups.
pub fn sum_in_order(groups: &[Vec<f32>]) -> Vec<f32> {
    let sum = |i: usize| groups.iter().map(|sums| f64::from(sums[i])).sum::<f64>() as f32;
    (0..groups.first().map_or(0, Vec::len)).map(sum).collect()
}

/// Adds the weight gradients of the groups, in the order of the groups.
fn total(parts: &[Pooled]) -> Vec<f32> {
    let mut sum = vec![0.0; parts.first().map_or(0, |p| p.len())];
    sum.par_chunks_mut(1024).enumerate().for_each(|(i, sum)| {
        for part in parts {
            vector::add(sum, &part[i * 1024..][..sum.len()]);
        }
    });
    sum
}
