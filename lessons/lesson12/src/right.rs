//! Right answers that are not written as canopy's.

use candle_core::{D, DType, Result, Tensor, bail};
use canopy::target::{SparseGradient, Summary};
use grader::{Right, right};

use crate::{Lesson12, REFERENCE, answer_helpers::*};

/// A row of zeros and a one for each id.
fn one_hot(ids: &[u32], rows: usize, like: &Tensor) -> Result<Tensor> {
    let mut hot = vec![0f32; ids.len() * rows];
    for (i, id) in ids.iter().enumerate() {
        hot[i * rows + *id as usize] = 1.0;
    }
    Tensor::from_vec(hot, (ids.len(), rows), like.device())?.to_dtype(like.dtype())
}

/// F at an edge and everything before it.
fn cumulated(probabilities: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = probabilities.iter().map(|p| {
        sum += p;
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}

pub const RIGHT: &[Right<Lesson12>] = &[
    right!("12.1", "one-hot rows times the table; sums in a map",
    embed: |table, ids| {
        let (categories, width) = table.dims2()?;
        if ids.iter().any(|&id| id as usize >= categories) { bail!("no such id"); }
        if ids.is_empty() { return Tensor::zeros((0, width), table.dtype(), table.device()); }
        one_hot(ids, categories, table)?.matmul(table)
    },
    embedding_gradient: |ids, grad| {
        let mut sums: std::collections::BTreeMap<u32, Vec<f64>> = std::collections::BTreeMap::new();
        let (count, width) = grad.dims2()?;
        if count != ids.len() { bail!("{count} rows"); }
        let list: Vec<f64> = grad.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
        for (id, row) in ids.iter().zip(list.chunks(width)) {
            let sum = sums.entry(*id).or_insert_with(|| vec![0.0; width]);
            sum.iter_mut().zip(row).for_each(|(sum, g)| *sum += g);
        }
        let rows: Vec<u32> = sums.keys().copied().collect();
        let values = Tensor::from_vec(sums.into_values().flatten().collect(), (rows.len(), width), grad.device())?;
        Ok(SparseGradient { values: values.to_dtype(grad.dtype())?, rows })
    }),
    right!("12.1", "row by row; the transposed one-hot matrix times the gradient",
    embed: |table, ids| {
        let (categories, width) = table.dims2()?;
        let row = |&id: &u32| {
            if id as usize >= categories { bail!("no such id"); }
            table.narrow(0, id as usize, 1)
        };
        let rows = ids.iter().map(row).collect::<Result<Vec<_>>>()?;
        if rows.is_empty() { return Tensor::zeros((0, width), table.dtype(), table.device()); }
        Tensor::cat(&rows, 0)
    },
    embedding_gradient: |ids, grad| {
        let (count, width) = grad.dims2()?;
        if count != ids.len() { bail!("{count} rows"); }
        let rows = once(ids);
        if rows.is_empty() { return Ok(SparseGradient { rows, values: Tensor::zeros((0, width), grad.dtype(), grad.device())? }); }
        let places: Vec<u32> = ids.iter().map(|id| rows.iter().position(|row| row == id).unwrap_or_default() as u32).collect();
        let values = one_hot(&places, rows.len(), grad)?.t()?.matmul(&grad.contiguous()?)?;
        Ok(SparseGradient { rows, values })
    }),
    right!("12.2", "the three means added", gaussian_nll: |m, s, y| {
        alike(m, s, y)?;
        let z = (y.sub(m)? * s.affine(-1.0, 0.0)?.exp()?)?;
        (z.sqr()?.mean_all()?.affine(0.5, TERMS.constant)? + s.mean_all()?)?.reshape(())
    }),
    right!("12.2", "the sum over n", gaussian_nll: |m, s, y| {
        alike(m, s, y)?;
        let z = ((m - y)? * (s * -1.0)?.exp()?)?;
        let terms = ((z.powf(2.0)? / 2.0)? + (s + TERMS.constant)?)?;
        terms.sum_all()? / m.elem_count() as f64
    }),
    right!("12.3", "two log-sum-exps of the terms, subtracted", mixture_nll: |w, m, s, y| {
        mixed((w, m, s, y), Mixing {
            weights: |w| Ok(w.clone()),
            sum: |w, n| log_sum_exp(&(w + n)?)? - log_sum_exp(w)?,
            ..MIXING
        })
    }),
    right!("12.3", "by candle's log_sum_exp", mixture_nll: |w, m, s, y| {
        let (n, k) = w.dims2()?;
        if m.dims() != [n, k] || s.dims() != [n, k] || y.dims() != [n] { bail!("shapes"); }
        let z = (y.reshape((n, 1))?.broadcast_sub(m)? * s.neg()?.exp()?)?;
        let log = ((z.sqr()? * 0.5)? + s)?.neg()?;
        let weights = w.broadcast_sub(&w.log_sum_exp(D::Minus1)?.unsqueeze(1)?)?;
        let whole = (weights + log)?.log_sum_exp(D::Minus1)?;
        whole.mean_all()?.affine(-1.0, TERMS.constant)
    }),
    right!("12.4", "by counting; a loop over the edges",
    quantile_bins: |values, bins| {
        let list = sorted(values);
        let n = list.len();
        let mut edges = vec![list[0]];
        let mut i = 1;
        for (at, v) in list.iter().enumerate() {
            // The value is edge i as long as the values up to it are enough.
            while i <= bins && (at + 1) * bins >= i * n {
                if edges.last() != Some(v) { edges.push(*v); }
                i += 1;
            }
        }
        edges
    },
    bin_of: |edges, value| {
        let last = edges.len() - 2;
        (0..last).find(|&i| value <= edges[i + 1]).unwrap_or(last)
    }),
    right!("12.4", "sorted by partial_cmp; edges pushed if they are greater",
    quantile_bins: |values, bins| {
        let mut list = values.to_vec();
        list.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        let n = list.len();
        let mut edges = vec![list[0]];
        for i in 1..=bins {
            let place = i * n / bins + usize::from(!(i * n).is_multiple_of(bins));
            let edge = list[place - 1];
            if edge > edges[edges.len() - 1] { edges.push(edge); }
        }
        edges
    },
    bin_of: |edges, value| edges.iter().filter(|e| **e < value).count().clamp(1, edges.len() - 1) - 1),
    right!("12.5", "with the sums in a list", summarise: |edges, p, coverage| {
        let sums = cumulated(p);
        let of = |q: f64| {
            let i = sums[1..].partition_point(|sum| *sum < q);
            if i == p.len() {
                let last = p.iter().rposition(|p| *p > 0.0).unwrap_or_default();
                return edges[last + 1];
            }
            edges[i] + (edges[i + 1] - edges[i]) * ((q - sums[i]) / (sums[i + 1] - sums[i]))
        };
        let mean = (0..p.len()).map(|i| p[i] * (edges[i] + edges[i + 1]) / 2.0).sum();
        Summary { mean, median: of(0.5), lower: of((1.0 - coverage) / 2.0), upper: of((1.0 + coverage) / 2.0) }
    }),
    right!("12.5", "probability that is left, bin by bin", summarise: |edges, p, coverage| {
        let of = |q: f64| {
            let mut left = q;
            let mut at = edges[0];
            for (i, &p) in p.iter().enumerate() {
                if p == 0.0 { continue; }
                if left <= p { return edges[i] * (1.0 - left / p) + edges[i + 1] * (left / p); }
                left -= p;
                at = edges[i + 1];
            }
            at
        };
        let tail = 0.5 - 0.5 * coverage;
        Summary { mean: mean(edges, p, |a, b| a + 0.5 * (b - a)), median: of(0.5), lower: of(tail), upper: of(1.0 - tail) }
    }),
    right!("12.6", "by the distance from the middle", calibration: |pits, levels| {
        shares(pits, levels, |u, c| (2.0 * u - 1.0).abs() <= c)
    }),
    right!("12.6", "level by level in a loop", calibration: |pits, levels| {
        let mut all = Vec::new();
        for c in levels {
            let tail = (1.0 - c) / 2.0;
            let count = pits.iter().filter(|u| **u >= tail && **u <= 1.0 - tail).count();
            all.push(count as f64 / pits.len() as f64);
        }
        all
    }),
    right!("12.7", "by the mean distances", crps: |edges, p, y| {
        // CRPS = E|X − y| − ½·E|X − X'|.
        let to = |low: f64, high: f64, y: f64| {
            if y <= low || y >= high { return (0.5 * (low + high) - y).abs(); }
            0.5 * ((y - low).powi(2) + (high - y).powi(2)) / (high - low)
        };
        let n = p.len();
        let first: f64 = (0..n).map(|i| p[i] * to(edges[i], edges[i + 1], y)).sum();
        let centre = |i: usize| 0.5 * (edges[i] + edges[i + 1]);
        let mut within = 0.0;
        for i in 0..n {
            for j in 0..n {
                let apart = if i == j { (edges[i + 1] - edges[i]) / 3.0 } else { (centre(i) - centre(j)).abs() };
                within += p[i] * p[j] * apart;
            }
        }
        first - 0.5 * within
    }),
    right!("12.7", "three cases for each bin", crps: |edges, p, y| {
        let square = |w: f64, a: f64, b: f64| w * ((a + b).powi(2) - a * b) / 3.0;
        let sums = cumulated(p);
        let mut score = 0.0;
        for i in 0..p.len() {
            let (low, high, a, b) = (edges[i], edges[i + 1], sums[i], sums[i + 1]);
            if y >= high {
                score += square(high - low, a, b);
            } else if y <= low {
                score += square(high - low, 1.0 - a, 1.0 - b);
            } else {
                let at = a + (b - a) * (y - low) / (high - low);
                score += square(y - low, a, at) + square(high - y, 1.0 - at, 1.0 - b);
            }
        }
        if y < edges[0] { score += edges[0] - y; }
        if y > edges[p.len()] { score += y - edges[p.len()]; }
        score
    }),
];
