//! The last layer before a maximum. Its activation, the widest of the network, is never stored.
//!
//! Let A be the layer's input with M rows, ā the mean of its rows, and Ac the input minus ā. The statistics of the
//! product A·Wᵀ follow from S = AcᵀAc: channel c has mean w_c·ā and variance w_cᵀ(S/M)w_c, where w_c is row c of W. The
//! product is computed tile by tile. Of each cloud and channel, only the greatest value (the least if γ < 0) and its
//! row are kept.

use std::ops::Range;

use candle_core::Result;
use rayon::prelude::*;

use super::Batch;
use super::covariance::{about_the_mean_of_all, covariance};
use super::greatest::greatest;
use super::layer::{Layer, Source};
use crate::kernels::matrix::Matrix;
use crate::kernels::ranks::total;
use crate::kernels::tile::Product;

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

pub fn forward(
    source: Source,
    batch: &Batch,
    clouds: Vec<Range<usize>>,
    layer: &mut Layer,
) -> Result<(Vec<f32>, Widest)> {
    let (n, kp) = (layer.n, layer.kp);
    let (mean, s) = about_the_mean_of_all(batch, covariance(source, batch.rows, kp))?;
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
fn at_row(source: Source, row: usize, w: &[f32], k: usize) -> f32 {
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
