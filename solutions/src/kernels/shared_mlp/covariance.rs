//! The mean of the widest layer's input, and its covariance.

use candle_core::Result;
use rayon::prelude::*;

use super::Batch;
use super::layer::{BLOCK, Source, group_rows};
use crate::kernels::ranks::total;
use crate::kernels::tile::add_transposed;
use crate::kernels::vector;

/// The mean of each input channel, and S, the sum over rows of the products of the deviations from the mean, `[kp, kp]`.
pub fn covariance(source: Source, rows: usize, kp: usize) -> (Vec<f32>, Vec<f32>) {
    // An estimate of the mean is subtracted before squaring, so that no digits are lost if the mean is far from 0.
    let mut near = vec![0.0; kp];
    let count = rows.min(BLOCK);
    vector::column_sums(source.rows(0, count, &mut Vec::new()), &mut near);
    near.iter_mut().for_each(|m| *m /= count as f32);
    let group = group_rows(rows);
    // For each group, the sum of each product of two channels, and of each channel.
    let (products, sums): (Vec<Vec<f32>>, Vec<Vec<f32>>) = (0..rows.div_ceil(group))
        .into_par_iter()
        .map_init(
            || (Vec::new(), Vec::new()),
            |(buffer, centred), g| {
                let (mut s, mut sum) = (vec![0.0; kp * kp], vec![0.0; kp]);
                let end = rows.min((g + 1) * group);
                for from in (g * group..end).step_by(BLOCK) {
                    let to = end.min(from + BLOCK);
                    centred.resize((to - from) * kp, 0.0);
                    vector::centre(centred, source.rows(from, to, buffer), &near);
                    vector::column_sums(centred, &mut sum);
                    add_transposed([kp, to - from, kp], centred, None, &mut s);
                }
                (s, sum)
            },
        )
        .unzip();
    let m = rows as f64;
    let total = |i: usize| sums.iter().map(|sum| f64::from(sum[i])).sum::<f64>();
    let off: Vec<f64> = (0..kp).map(|i| total(i) / m).collect();
    let mean = (0..kp).map(|i| (f64::from(near[i]) + off[i]) as f32).collect();
    let mut s = vec![0.0; kp * kp];
    s.par_chunks_mut(kp).enumerate().for_each(|(i, line)| {
        // On and right of the diagonal, in the order of the groups.
        let mut sums = vec![-0.0; kp - i];
        for s in &products {
            vector::add_wide(&mut sums, &s[i * kp + i..][..kp - i]);
        }
        for (j, sum) in (i..).zip(sums) {
            line[j] = (sum - m * off[i] * off[j]) as f32;
        }
    });
    for i in 1..kp {
        for j in 0..i {
            s[i * kp + j] = s[j * kp + i];
        }
    }
    (mean, s)
}

/// The mean over the rows of all ranks, and this rank's S about that mean: S + M·d·dᵀ, where M is the number of this
/// rank's rows and d the difference between its own mean and that of all ranks.
pub fn about_the_mean_of_all(
    batch: &Batch,
    (own, mut s): (Vec<f32>, Vec<f32>),
) -> Result<(Vec<f32>, Vec<f32>)> {
    if batch.sums.is_none() {
        return Ok((own, s));
    }
    let rows = batch.rows as f64;
    let mut sums: Vec<f64> = own.iter().map(|&m| rows * f64::from(m)).collect();
    total(batch.sums.as_ref(), &mut sums)?;
    let mean: Vec<f64> = sums.iter().map(|s| s / batch.all_rows).collect();
    let off: Vec<f64> = own
        .iter()
        .zip(&mean)
        .map(|(&own, all)| f64::from(own) - all)
        .collect();
    for (line, d) in s.chunks_exact_mut(own.len()).zip(&off) {
        for (s, e) in line.iter_mut().zip(&off) {
            *s += (rows * d * e) as f32;
        }
    }
    Ok((mean.into_iter().map(|m| m as f32).collect(), s))
}
