//! The backward pass of the widest layer ([`widest`](super::widest)).
//!
//! The gradient g of this layer is nonzero at one row per cloud and channel only. Let u =
//! γ/σ, and for each channel p = u·dβ/M and q = u·dγ/(σ·M). Then dW = (u·g)ᵀAc − diag(q)·W·S and dA = (u·g)·W − 1pᵀW −
//! Ac·(Wᵀdiag(q)W).

use std::ops::Range;

use candle_core::Result;
use rayon::prelude::*;

use super::backward::{Below, Saved, sum_in_order};
use super::greatest::tiles;
use super::layer::Source;
use super::widest::Widest;
use crate::kernels::clouds::split;
use crate::kernels::matrix::Matrix;
use crate::kernels::tile::Product;
use crate::kernels::{pool, vector};

impl Saved {
    /// The backward pass of the layer before the maximum: returns dW, the layer's sums and, if `deeper`, the gradient
    /// for the layer below.
    pub fn under_max(
        &self,
        x: &[f32],
        widest: &Widest,
        gradient: &[f32],
        deeper: bool,
    ) -> Result<(Vec<f32>, Vec<f32>, Option<Below>)> {
        let level = self.layers.len() - 1;
        let l = &self.layers[level];
        let (n, kp) = (l.n, l.kp);
        let source = self.source(x, level);
        let mut sums = vec![0.0; 2 * n];
        // u·g, or 0 if the ReLU's output is 0.
        let mut ug = vec![0.0; gradient.len()];
        for (i, (&g, &xhat)) in gradient.iter().zip(&widest.xhat).enumerate() {
            let c = i % n;
            if !l.relu || xhat * l.gamma[c] + l.beta[c] > 0.0 {
                sums[c] += g;
                sums[n + c] += g * xhat;
                ug[i] = g * l.scale[c];
            }
        }
        let all = self.of_all(&sums)?;
        let factor = |c: usize, sum: f32| f64::from(l.scale[c]) * f64::from(sum) / self.batch.all_rows;
        let p: Vec<f32> = (0..n).map(|c| factor(c, all[c]) as f32).collect();
        let q = |c: usize| (factor(c, all[n + c]) * f64::from(l.rstd[c])) as f32;
        let q: Vec<f32> = (0..n).map(q).collect();

        let mut dw = vec![0.0; n * kp];
        let columns = dw.par_chunks_mut(kp).enumerate();
        columns.for_each_init(
            || vec![0.0; kp],
            |a, (c, dw)| {
                for i in (0..widest.clouds.len()).map(|cloud| cloud * n + c) {
                    if ug[i] != 0.0 {
                        let row = widest.at[i] as usize;
                        source.write(row, row + 1, a);
                        vector::add_centred(dw, a, &widest.mean, ug[i]);
                    }
                }
                vector::add_scaled(dw, &widest.ws[c * kp..][..kp], -q[c]);
            },
        );
        let weight = l.weight()?;
        let below = deeper.then(|| self.below_max(source, widest, &weight, &ug, &p, &q));
        Ok((dw, sums, below))
    }

    fn below_max(
        &self,
        source: Source,
        widest: &Widest,
        weight: &[f32],
        ug: &[f32],
        p: &[f32],
        q: &[f32],
    ) -> Below {
        let level = self.layers.len() - 1;
        let l = &self.layers[level];
        let (n, kp) = (l.n, l.kp);
        let mut pw = vec![0.0; kp];
        let mut scaled = vec![0.0; n * kp];
        for (c, row) in scaled.chunks_exact_mut(kp).enumerate() {
            let w = &weight[c * kp..][..kp];
            vector::add_scaled(&mut pw, w, p[c]);
            vector::add_scaled(row, w, -q[c]);
        }
        // −Wᵀdiag(q)W.
        let mut minus_q = vec![0.0; kp * kp];
        minus_q.par_chunks_mut(6 * kp).enumerate().for_each(|(i, out)| {
            let w = Matrix::dense(&scaled[i * 6..], kp).t();
            Product::new([out.len() / kp, n, kp], w, weight, out).run();
        });
        let minus_pw: Vec<f32> = pw.iter().map(|v| -v).collect();

        let tiles = tiles(&widest.clouds, 1);
        let mut down = pool::take(self.batch.rows * kp);
        let ranges: Vec<Range<usize>> = tiles.iter().map(|(_, rows)| rows.clone()).collect();
        let parts: Vec<_> = tiles.iter().zip(split(&mut down, &ranges, kp)).collect();
        let sums: Vec<Vec<f32>> = parts
            .into_par_iter()
            .map_init(
                || (Vec::new(), Vec::new()),
                |(buffer, centred), ((cloud, rows), down)| {
                    centred.resize(down.len(), 0.0);
                    vector::centre(centred, source.rows(rows.start, rows.end, buffer), &widest.mean);
                    for row in down.chunks_exact_mut(kp) {
                        row.copy_from_slice(&minus_pw);
                    }
                    let of_cloud = cloud * n..(cloud + 1) * n;
                    let maxima = widest.at[of_cloud.clone()].iter().zip(&ug[of_cloud]);
                    for (c, (&at, &ug)) in maxima.enumerate() {
                        let at = at as usize;
                        if ug != 0.0 && rows.contains(&at) {
                            let row = &mut down[(at - rows.start) * kp..][..kp];
                            vector::add_scaled(row, &weight[c * kp..][..kp], ug);
                        }
                    }
                    let centred = Matrix::dense(centred, kp);
                    let product = Product::new([rows.len(), kp, kp], centred, &minus_q, down);
                    Product { add: true, ..product }.run();
                    let mut sums = vec![0.0; 2 * kp];
                    if level > 0 {
                        self.mask(level - 1, rows.start, down, &mut sums);
                    }
                    sums
                },
            )
            .collect();
        Below {
            gradient: down,
            sums: sum_in_order(&sums),
        }
    }
}
