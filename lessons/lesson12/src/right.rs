//! Right answers that are not written as canopy's.

use std::collections::BTreeMap;

use candle_core::{D, Result, Tensor, bail};
use canopy::target::{SparseGradient, Summary};
use grader::{Right, known};

use crate::{Lesson12, REFERENCE};

const CONSTANT: f64 = 0.918_938_533_204_672_8;

/// Shapes that are not all the same are an error.
fn alike(shapes: [&[usize]; 3]) -> Result<()> {
    if shapes[0] != shapes[1] || shapes[0] != shapes[2] {
        bail!("the shapes differ");
    }
    Ok(())
}

pub const RIGHT: &[Right<Lesson12>] = &[
    known!("12.1", "row by row; sums in a map",
    embed: |table, ids| {
        let rows = ids.iter().map(|&id| table.get(id as usize)).collect::<Result<Vec<_>>>()?;
        Tensor::stack(&rows, 0)
    },
    embedding_gradient: |ids, grad| {
        if grad.dim(0)? != ids.len() { bail!("{grad} for {ids:?}"); }
        let mut sums: BTreeMap<u32, Tensor> = BTreeMap::new();
        for (i, id) in ids.iter().enumerate() {
            let row = grad.narrow(0, i, 1)?;
            let sum = sums.get(id).map_or(Ok(row.clone()), |sum| sum + row)?;
            sums.insert(*id, sum);
        }
        let values = Tensor::cat(&sums.values().collect::<Vec<_>>(), 0)?;
        Ok(SparseGradient { rows: sums.into_keys().collect(), values })
    }),
    known!("12.2", "the three means added", gaussian_nll: |m, s, y| {
        alike([m.dims(), s.dims(), y.dims()])?;
        let z = (y.sub(m)? * s.affine(-1.0, 0.0)?.exp()?)?;
        z.sqr()?.mean_all()?.affine(0.5, CONSTANT)? + s.mean_all()?
    }),
    known!("12.3", "by candle's log_sum_exp", mixture_nll: |w, m, s, y| {
        alike([w.dims(), m.dims(), s.dims()])?;
        alike([y.dims(), y.dims(), &w.dims()[..1]])?;
        let z = (y.reshape(((), 1))?.broadcast_sub(m)? * s.neg()?.exp()?)?;
        let weights = w.broadcast_sub(&w.log_sum_exp(D::Minus1)?.unsqueeze(1)?)?;
        let terms = (weights - ((z.sqr()? * 0.5)? + s)?)?;
        terms.log_sum_exp(D::Minus1)?.mean_all()?.affine(-1.0, CONSTANT)
    }),
    known!("12.4", "by counting; a loop over the edges",
    quantile_bins: |values, bins| {
        let mut list = values.to_vec();
        list.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        let (mut edges, mut i) = (vec![list[0]], 1);
        for (at, v) in list.iter().enumerate() {
            // The value is edge i as long as the values up to it are enough.
            while i <= bins && (at + 1) * bins >= i * list.len() {
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
    known!("12.5", "with the sums in a list", summarise: |edges, p, coverage| {
        let sums: Vec<f64> = (0..=p.len()).map(|i| p[..i].iter().sum()).collect();
        let of = |q: f64| {
            let i = sums[1..].partition_point(|sum| *sum < q);
            if i == p.len() { return edges[p.iter().rposition(|p| *p > 0.0).unwrap_or_default() + 1]; }
            edges[i] + (edges[i + 1] - edges[i]) * ((q - sums[i]) / (sums[i + 1] - sums[i]))
        };
        let mean = (0..p.len()).map(|i| p[i] * (edges[i] + edges[i + 1]) / 2.0).sum();
        Summary { mean, median: of(0.5), lower: of((1.0 - coverage) / 2.0), upper: of((1.0 + coverage) / 2.0) }
    }),
    known!("12.6", "by the distance from the middle", calibration: |pits, levels| {
        let count = |c: &f64| pits.iter().filter(|u| (2.0 * **u - 1.0).abs() <= *c).count();
        levels.iter().map(|c| count(c) as f64 / pits.len() as f64).collect()
    }),
    known!("12.7", "by the mean distances: E|X − y| − ½·E|X − X'|", crps: |edges, p, y| {
        let bin = |i: usize| (0.5 * (edges[i] + edges[i + 1]), edges[i + 1] - edges[i]);
        let mut score = 0.0;
        for i in 0..p.len() {
            let (centre, width) = bin(i);
            let off = (y - centre).abs();
            score += p[i] * if off < 0.5 * width { off * off / width + 0.25 * width } else { off };
            for j in 0..p.len() {
                let apart = if i == j { width / 3.0 } else { (centre - bin(j).0).abs() };
                score -= 0.5 * p[i] * p[j] * apart;
            }
        }
        score
    }),
];
