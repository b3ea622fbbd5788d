//! The last layer before a maximum. Its activation, the widest of the network, is never stored.
//!
//! Let A be the layer's input with M rows, ā the mean of its rows, and Ac the input minus ā. The statistics of the
//! product A·Wᵀ follow from S = AcᵀAc: channel c has mean w_c·ā and variance w_cᵀ(S/M)w_c, where w_c is row c of W. The
//! product is computed tile by tile. Of each cloud and channel, only the greatest value (the least if γ < 0) and its
//! row are kept. The backward pass needs no more (see `backward_max`).

use candle_core::Result;
use rayon::prelude::*;
use std::ops::Range;

use super::Batch;
use super::covariance::{about_the_mean_of_all, covariance};
use super::greatest::greatest;
use super::layer::{Layer, Source};
use crate::kernels::bf16::round;
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
    let (n, kp, rows) = (layer.n, layer.kp, batch.rows);
    let (mean, s) = about_the_mean_of_all(batch, covariance(source, rows, kp, layer.unit))?;
    let ws = times_weight(layer, &s);
    let (means, vars): (Vec<f64>, Vec<f64>) = (0..n)
        .into_par_iter()
        .map(|c| {
            let w = &layer.weight[c * kp..][..kp];
            let dot = |v: &[f32]| {
                v.iter()
                    .zip(w)
                    .map(|(&v, &w)| f64::from(v) * f64::from(w))
                    .sum::<f64>()
            };
            (dot(&mean), dot(&ws[c * kp..][..kp]).max(0.0))
        })
        .unzip();
    let mut vars = vars;
    total(batch.sums.as_ref(), &mut vars)?;
    vars.iter_mut().for_each(|v| *v /= batch.all_rows);
    layer.set_statistics(&means, &vars);

    let (best, at) = greatest(&source, &clouds, layer);
    let mut xhat = best;
    round(layer.unit, &mut xhat);
    let mut output = vec![0.0; clouds.len() * n];
    for (cloud, (xhat, output)) in xhat
        .chunks_exact_mut(n)
        .zip(output.chunks_exact_mut(n))
        .enumerate()
    {
        for c in 0..n {
            if layer.gamma[c] == 0.0 {
                xhat[c] = at_row(
                    source,
                    at[cloud * n + c] as usize,
                    &layer.weight[c * kp..][..layer.k],
                );
            }
            xhat[c] = (xhat[c] - layer.mean[c]) * layer.rstd[c];
            let v = xhat[c] * layer.gamma[c] + layer.beta[c];
            output[c] = if layer.relu && v < 0.0 { 0.0 } else { v };
        }
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
fn at_row(source: Source, row: usize, w: &[f32]) -> f32 {
    let mut scratch = Vec::new();
    let a = source.block(row, row + 1, &mut scratch);
    a.iter().zip(w).map(|(a, w)| a * w).sum()
}

/// W·S, `[np, kp]`.
fn times_weight(layer: &Layer, s: &[f32]) -> Vec<f32> {
    const ROWS: usize = 48;
    let kp = layer.kp;
    let mut ws = vec![0.0; layer.np * kp];
    ws.par_chunks_mut(ROWS * kp).enumerate().for_each(|(i, ws)| {
        Product::new(
            [ws.len() / kp, kp, kp],
            Matrix::dense(&layer.weight[i * ROWS * kp..], kp),
            s,
            ws,
        )
        .run();
    });
    ws
}
