//! The forward pass in training.

use std::ops::Range;

use candle_core::Result;
use rayon::prelude::*;

use super::Batch;
use super::layer::{BLOCK, Layer, Source, crop, group_rows};
use super::widest::{self, Widest};
use crate::kernels::matrix::Matrix;
use crate::kernels::pool::Pooled;
use crate::kernels::ranks::total;
use crate::kernels::tile::Product;
use crate::kernels::vector;

/// Returns the output, and what the backward pass of the maximum needs.
pub fn forward(
    x: &[f32],
    batch: &Batch,
    layers: &mut [Layer],
    clouds: Option<Vec<Range<usize>>>,
) -> Result<(Vec<f32>, Option<Widest>)> {
    let stored = layers.len() - usize::from(clouds.is_some());
    for i in 0..stored {
        let (before, rest) = layers.split_at_mut(i);
        multiply(Source::of(x, before, &rest[0]), batch, &mut rest[0])?;
    }
    let (before, rest) = layers.split_at_mut(stored);
    let Some(clouds) = clouds else {
        return Ok((activation(&before[stored - 1], batch.rows), None));
    };
    let source = Source::of(x, before, &rest[0]);
    let (output, widest) = widest::forward(source, batch, clouds, &mut rest[0])?;
    Ok((output, Some(widest)))
}

/// Sums over one group of rows. The mean and the variance of the batch are computed from those of all groups.
struct Moments {
    rows: usize,
    sum: Vec<f32>,
    /// Sum of the squared differences from `near`, which is the mean of the group's first block.
    square: Vec<f32>,
    near: Vec<f32>,
}

/// Computes the product `y` of one layer block by block, and the sums for its statistics while a block is in the cache.
fn multiply(source: Source, batch: &Batch, layer: &mut Layer) -> Result<()> {
    let weight = layer.forward_operand()?;
    let group = group_rows(batch.rows);
    let mut y = Pooled::new(batch.rows * layer.np);
    let groups = y.par_chunks_mut(group * layer.np).enumerate();
    let moments: Vec<Moments> = groups
        .map(|(g, y)| of_group(source, layer, &weight, g * group, y))
        .collect();
    let (mean, var) = batch.of_all(combine(&moments, batch.rows, layer.n))?;
    layer.set_statistics(&mean, &var);
    layer.y = y;
    Ok(())
}

/// Computes the product of the group of rows that begins at row `first`, and its sums.
fn of_group(source: Source, layer: &Layer, weight: &[f32], first: usize, group: &mut [f32]) -> Moments {
    let (np, mut buffer) = (layer.np, Vec::new());
    let mut m = Moments {
        rows: group.len() / np,
        sum: vec![0.0; np],
        square: vec![0.0; np],
        near: Vec::new(),
    };
    for (row, y) in (0..).step_by(BLOCK).zip(group.chunks_mut(BLOCK * np)) {
        let rows = y.len() / np;
        let a = source.rows(first + row, first + row + rows, &mut buffer);
        if layer.is_linear() {
            Product::new([rows, layer.k, np], Matrix::dense(a, layer.kp), weight, y).run();
        } else {
            y.copy_from_slice(a);
        }
        vector::column_sums(y, &mut m.sum);
        if row == 0 {
            m.near = m.sum.iter().map(|s| s / rows as f32).collect();
        }
        vector::column_squares(y, &m.near, &mut m.square);
    }
    m
}

impl Batch {
    /// Mean and biased variance over the rows of all ranks, computed from those over this rank's rows.
    pub fn of_all(&self, (mean, var): (Vec<f64>, Vec<f64>)) -> Result<(Vec<f64>, Vec<f64>)> {
        if self.sums.is_none() {
            return Ok((mean, var));
        }
        let (own, all) = (self.rows as f64, self.all_rows);
        // Sums of squares about 0. In f64, little precision is lost when the square of the mean is subtracted from
        // them.
        let squares = mean.iter().zip(&var).map(|(m, v)| own * (v + m * m));
        let mut sums: Vec<f64> = mean.iter().map(|m| own * m).chain(squares).collect();
        total(self.sums.as_ref(), &mut sums)?;
        let (first, second) = sums.split_at(mean.len());
        let mean: Vec<f64> = first.iter().map(|s| s / all).collect();
        let var = mean.iter().zip(second).map(|(m, s)| (s / all - m * m).max(0.0));
        Ok((mean.clone(), var.collect()))
    }
}

/// Mean and biased variance of each column, in f64. The groups are added in order (Chan, Golub and LeVeque 1983).
fn combine(moments: &[Moments], rows: usize, channels: usize) -> (Vec<f64>, Vec<f64>) {
    let total = |c: usize| moments.iter().map(|m| f64::from(m.sum[c])).sum::<f64>();
    let mean: Vec<f64> = (0..channels).map(|c| total(c) / rows as f64).collect();
    let var = (0..channels).map(|c| {
        let squares = moments.iter().map(|m| {
            let count = m.rows as f64;
            let own = f64::from(m.sum[c]) / count;
            let from_near = own - f64::from(m.near[c]);
            let from_mean = own - mean[c];
            f64::from(m.square[c]) + count * (from_mean * from_mean - from_near * from_near)
        });
        (squares.sum::<f64>() / rows as f64).max(0.0)
    });
    let var = var.collect();
    (mean, var)
}

/// The activation of a stored layer, `[rows, n]`: the output of the operator, without padding.
fn activation(layer: &Layer, rows: usize) -> Vec<f32> {
    let np = layer.np;
    let mut output = vec![0.0; rows * np];
    let blocks = output.par_chunks_mut(BLOCK * np).enumerate();
    blocks.for_each(|(b, out)| layer.activate(b * BLOCK, b * BLOCK + out.len() / np, out));
    crop(output, np, layer.n)
}
