//! The last layer before a maximum. Its activation, the widest of the network, is never stored.
//!
//! Let A be the layer's input with M rows, ā the mean of its rows, and Ac the input minus ā. The statistics of the
//! product A·Wᵀ follow from S = AcᵀAc: channel c has mean w_c·ā and variance w_cᵀ(S/M)w_c, where w_c is row c of W. The
//! product is computed tile by tile. Of each cloud and channel, only the greatest value (the least if γ < 0) and its
//! row are kept.
//!
//! The backward pass needs no more. The gradient g of this layer is nonzero at one row per cloud and channel only. Let u =
//! γ/σ, and for each channel p = u·dβ/M and q = u·dγ/(σ·M). Then dW = (u·g)ᵀAc − diag(q)·W·S and dA = (u·g)·W − 1pᵀW −
//! Ac·(Wᵀdiag(q)W).

use std::ops::Range;

use candle_core::Result;
use rayon::prelude::*;

use super::Batch;
use super::backward::{Below, Saved, Sums};
use super::covariance::{about_the_mean_of_all, covariance};
use super::greatest::{greatest, tiles};
use super::layer::{Layer, Source};
use crate::kernels::clouds::split;
use crate::kernels::matrix::Matrix;
use crate::kernels::operand::{self, Operand};
use crate::kernels::ranks::total;
use crate::kernels::tile::Product;
use crate::kernels::{pool, vector};

/// What the backward pass of the maximum needs.
pub struct Widest {
    /// The rows of each cloud.
    pub clouds: Vec<Range<usize>>,
    /// Normalised value at the arg-max, `[clouds, n]`.
    pub xhat: Vec<f32>,
    /// Row of the arg-max, counted from the first row of this rank's batch, `[clouds, n]`.
    pub at: Vec<u32>,
    /// W·S, `[np, kp]`.
    pub ws: Vec<f32>,
    /// ā, over the rows of all ranks, `[kp]`.
    pub mean: Vec<f32>,
}

pub fn forward<T: Operand>(
    source: Source<T>,
    batch: &Batch,
    clouds: Vec<Range<usize>>,
    layer: &mut Layer<T>,
) -> Result<(Vec<f32>, Widest)> {
    let (n, kp) = (layer.n, layer.kp);
    let (mean, s) = about_the_mean_of_all(batch, covariance(source, batch.rows, kp, layer.unit))?;
    let weight = layer.weight()?;
    let ws = times_weight(&weight, &s, kp);
    let (means, mut vars): (Vec<f64>, Vec<f64>) = (0..n)
        .into_par_iter()
        .map(|c| {
            let w = &weight[c * kp..][..kp];
            let dot = |v: &[f32]| {
                let products = v.iter().zip(w).map(|(&v, &w)| f64::from(v) * f64::from(w));
                products.sum::<f64>()
            };
            (dot(&mean), dot(&ws[c * kp..][..kp]).max(0.0))
        })
        .unzip();
    drop(weight);
    total(batch.sums.as_ref(), &mut vars)?;
    vars.iter_mut().for_each(|v| *v /= batch.all_rows);
    layer.set_statistics(&means, &vars);

    let read = |from: usize, to: usize, (): &mut (), out: &mut [f32]| source.write(from, to, out);
    let (mut xhat, at) = greatest(read, &clouds, layer)?;
    let weight = layer.weight()?;
    T::round(&mut xhat);
    let mut output = vec![0.0; clouds.len() * n];
    for (i, (xhat, output)) in xhat.iter_mut().zip(&mut output).enumerate() {
        let c = i % n;
        if layer.gamma[c] == 0.0 {
            *xhat = at_row(source, at[i] as usize, &weight[c * kp..][..kp], layer.k);
        }
        *xhat = (*xhat - layer.mean[c]) * layer.rstd[c];
        let v = *xhat * layer.gamma[c] + layer.beta[c];
        *output = if layer.relu && v < 0.0 { 0.0 } else { v };
    }
    let widest = Widest {
        clouds,
        xhat,
        at,
        ws,
        mean,
    };
    Ok((output, widest))
}

/// The product of one row with a padded row of the weight, of which `k` values count.
fn at_row<T: Operand>(source: Source<T>, row: usize, w: &[f32], k: usize) -> f32 {
    let mut a = vec![0.0; w.len()];
    source.write(row, row + 1, &mut a);
    a.iter().zip(&w[..k]).map(|(a, w)| a * w).sum()
}

/// W·S, `[np, kp]`.
fn times_weight(weight: &[f32], s: &[f32], kp: usize) -> Vec<f32> {
    const ROWS: usize = 48;
    let mut ws = vec![0.0; weight.len()];
    ws.par_chunks_mut(ROWS * kp).enumerate().for_each(|(i, ws)| {
        let w = Matrix::dense(&weight[i * ROWS * kp..], kp);
        Product::new([ws.len() / kp, kp, kp], w, s, ws).run();
    });
    ws
}

impl<T: Operand> Saved<T> {
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
        source: Source<T>,
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
        T::round(&mut minus_q);
        let mut mean = widest.mean.clone();
        if T::IS_ROUNDED {
            // The rows keep their mean, because the difference would not be a bf16 number.
            for (row, &mean) in minus_q.chunks_exact(kp).zip(&mean) {
                vector::add_scaled(&mut pw, row, mean);
            }
            mean.fill(0.0);
        }
        let minus_q = T::right(minus_q, kp);

        let tiles = tiles(&widest.clouds, 1);
        let mut down = pool::take(self.batch.rows * kp);
        let ranges: Vec<Range<usize>> = tiles.iter().map(|(_, rows)| rows.clone()).collect();
        let parts: Vec<_> = tiles.iter().zip(split(&mut down, &ranges, kp)).collect();
        let sums: Vec<Sums> = parts
            .into_par_iter()
            .map_init(
                || (Vec::new(), Vec::new()),
                |(numbers, centred), ((cloud, rows), down)| {
                    centred.resize(down.len(), T::default());
                    vector::centre(centred, source.operand(rows.start, rows.end, numbers), &mean);
                    for row in down.chunks_exact_mut(kp) {
                        vector::negate(row, &pw);
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
                    operand::multiply(l.unit, [rows.len(), kp, kp], centred, &minus_q, down, true);
                    T::round(down);
                    let mut sums = Sums::zeros(kp);
                    if level > 0 {
                        self.mask(level - 1, rows.start, down, &mut sums);
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
