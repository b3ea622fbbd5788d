//! The backward pass of the layer before the maximum, in closed form.
//!
//! The gradient g of this layer is nonzero at one row per cloud and channel only. Let Ac be the centred input, S =
//! AcᵀAc, u = γ/σ, and for each channel p = u·dβ/M and q = u·dγ/(σ·M). Then dW = (u·g)ᵀAc − diag(q)·W·S and dA =
//! (u·g)·W − 1pᵀW − Ac·(Wᵀdiag(q)W).

use candle_core::Result;
use rayon::prelude::*;

use super::backward::{Below, Saved, Sums};
use super::layer::{Scratch, Source};
use super::tiles::tiles;
use super::widest::Widest;
use crate::kernels::bf16::{self, Block, Right, round};
use crate::kernels::matrix::Matrix;
use crate::kernels::tile::Product;
use crate::kernels::{Bf16Unit, pool, vector};

impl Saved {
    /// The backward pass of the layer before the maximum: returns dW, the layer's sums and, if `deeper`, the gradient
    /// for the layer below.
    pub fn under_max(
        &self,
        x: &[f32],
        widest: &Widest,
        gradient: &[f32],
        deeper: bool,
    ) -> Result<(Vec<f32>, Sums, Option<Below>)> {
        let level = self.layers.len() - 1;
        let l = &self.layers[level];
        let (n, kp) = (l.n, l.kp);
        let source = self.source(x, level);
        let mut sums = Sums::zeros(n);
        // u·g, or 0 if the ReLU's output is 0.
        let mut ug = vec![0.0; gradient.len()];
        for (i, (&g, &xhat)) in gradient.iter().zip(&widest.xhat).enumerate() {
            let c = i % n;
            if !l.relu || xhat * l.gamma[c] + l.beta[c] > 0.0 {
                sums.beta[c] += g;
                sums.gamma[c] += g * xhat;
                ug[i] = g * l.scale[c];
            }
        }
        let all = self.of_all(&sums)?;
        let factor = |c: usize, sum: f32| f64::from(l.scale[c]) * f64::from(sum) / self.batch.all_rows;
        let p: Vec<f32> = (0..n).map(|c| factor(c, all.beta[c]) as f32).collect();
        let q: Vec<f32> = (0..n)
            .map(|c| (factor(c, all.gamma[c]) * f64::from(l.rstd[c])) as f32)
            .collect();

        let mut dw = vec![0.0; n * kp];
        dw.par_chunks_mut(kp)
            .enumerate()
            .for_each_init(Vec::new, |scratch, (c, dw)| {
                for cloud in 0..widest.clouds.len() {
                    let i = cloud * n + c;
                    if ug[i] != 0.0 {
                        let row = widest.at[i] as usize;
                        vector::add_centred(dw, source.block(row, row + 1, scratch), &widest.mean, ug[i]);
                    }
                }
                vector::add_scaled(dw, &widest.ws[c * kp..][..kp], -q[c]);
            });
        let below = deeper.then(|| self.below_max(source, widest, &ug, &p, &q));
        Ok((dw, sums, below))
    }

    fn below_max(&self, source: Source, widest: &Widest, ug: &[f32], p: &[f32], q: &[f32]) -> Below {
        let level = self.layers.len() - 1;
        let l = &self.layers[level];
        let (n, kp) = (l.n, l.kp);
        let mut pw = vec![0.0; kp];
        let mut scaled = vec![0.0; n * kp];
        for (c, row) in scaled.chunks_exact_mut(kp).enumerate() {
            let w = &l.weight[c * kp..][..kp];
            vector::add_scaled(&mut pw, w, p[c]);
            vector::add_scaled(row, w, -q[c]);
        }
        // −Wᵀdiag(q)W.
        let mut minus_q = vec![0.0; kp * kp];
        minus_q.par_chunks_mut(6 * kp).enumerate().for_each(|(i, out)| {
            let rows = out.len() / kp;
            Product::new(
                [rows, n, kp],
                Matrix::dense(&scaled[i * 6..], kp).t(),
                &l.weight,
                out,
            )
            .run();
        });
        round(l.unit, &mut minus_q);
        if l.unit != Bf16Unit::Off {
            // The rows keep their mean, because the difference would not be a bf16 number.
            for (row, &mean) in minus_q.chunks_exact(kp).zip(&widest.mean) {
                vector::add_scaled(&mut pw, row, mean);
            }
        }
        let minus_q = Right::new(l.unit, minus_q, kp);

        let tiles = tiles(&widest.clouds);
        let mut down = pool::take(self.rows * kp);
        let mut rest = &mut down[..];
        let mut parts = Vec::with_capacity(tiles.len());
        for &(cloud, from, to) in &tiles {
            let (part, after) = rest.split_at_mut((to - from) * kp);
            parts.push((cloud, from, part));
            rest = after;
        }
        let sums: Vec<Sums> = parts
            .into_par_iter()
            .map_init(
                || (Scratch::default(), Vec::new()),
                |(scratch, centred), (cloud, from, down)| {
                    let rows = down.len() / kp;
                    let mut block = source.operand(from, from + rows, scratch);
                    if let Block::Single(rows) = block {
                        centred.resize(rows.len(), 0.0);
                        vector::centre(centred, rows, &widest.mean);
                        block = Block::Single(centred);
                    }
                    for row in down.chunks_exact_mut(kp) {
                        vector::negate(row, &pw);
                    }
                    for (c, (&at, &ug)) in widest.at[cloud * n..][..n]
                        .iter()
                        .zip(&ug[cloud * n..])
                        .enumerate()
                    {
                        let at = at as usize;
                        if ug != 0.0 && (from..from + rows).contains(&at) {
                            let row = &mut down[(at - from) * kp..][..kp];
                            vector::add_scaled(row, &l.weight[c * kp..][..kp], ug);
                        }
                    }
                    bf16::multiply([rows, kp, kp], block, &minus_q, down, true);
                    round(l.unit, down);
                    let mut sums = Sums::zeros(kp);
                    if level > 0 {
                        self.mask(level - 1, from, down, &mut sums);
                    }
                    sums
                },
            )
            .collect();
        Below {
            gradient: down,
            sums: Sums::total(&sums),
        }
    }
}
