//! Right answers with switches, from which the known mistakes are built: each switch turns on one mistake.

use std::f64::consts::TAU;

use candle_core::{D, DType, Result, Tensor, bail};
use canopy::target::{SparseGradient, Summary};

/// What the sum of the rows of each id may do differently.
#[derive(Clone, Copy)]
pub struct Gather {
    /// The rows of the result, from the ids.
    pub rows: fn(&[u32]) -> Vec<u32>,
    /// A number of the sum, from what it was and the next gradient.
    pub add: fn(f64, f64) -> f64,
    /// A number of the sum, from the sum and how many there were.
    pub finish: fn(f64, usize) -> f64,
}

pub const GATHER: Gather = Gather {
    rows: once,
    add: |sum, g| sum + g,
    finish: |sum, _| sum,
};

/// Each id once, ascending.
pub fn once(ids: &[u32]) -> Vec<u32> {
    let mut rows = ids.to_vec();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// Each id once, in the order of their first occurrence.
pub fn as_they_occur(ids: &[u32]) -> Vec<u32> {
    let mut rows: Vec<u32> = Vec::new();
    for &id in ids {
        if !rows.contains(&id) {
            rows.push(id);
        }
    }
    rows
}

pub fn gathered(ids: &[u32], grad: &Tensor, by: Gather) -> Result<SparseGradient> {
    let (count, width) = grad.dims2()?;
    if count != ids.len() {
        bail!("{count} rows for {} ids", ids.len());
    }
    summed(ids, grad, width, by)
}

/// Without a test of the number of rows.
pub fn summed(ids: &[u32], grad: &Tensor, width: usize, by: Gather) -> Result<SparseGradient> {
    let rows = (by.rows)(ids);
    let list: Vec<f64> = grad.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    let mut sums = vec![0.0; rows.len() * width];
    let mut counts = vec![0; rows.len()];
    for (id, g) in ids.iter().zip(list.chunks(width)) {
        let at = rows.iter().position(|row| row == id).unwrap_or_default();
        counts[at] += 1;
        let sum = sums[at * width..].iter_mut();
        sum.zip(g).for_each(|(sum, g)| *sum = (by.add)(*sum, *g));
    }
    for (sums, &count) in sums.chunks_mut(width).zip(&counts) {
        sums.iter_mut().for_each(|sum| *sum = (by.finish)(*sum, count));
    }
    let values = Tensor::from_vec(sums, (rows.len(), width), grad.device())?;
    let values = values.to_dtype(grad.dtype())?;
    Ok(SparseGradient { rows, values })
}

/// Tests the shapes of Gaussians.
pub fn alike(mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<()> {
    if mean.rank() != 1 || mean.dims() != log_std.dims() || mean.dims() != target.dims() {
        bail!("the shapes differ");
    }
    Ok(())
}

/// What the loss of Gaussians may do differently: each term from the distance y − μ and ln σ.
#[derive(Clone, Copy)]
pub struct Terms {
    pub constant: f64,
    /// From ln σ.
    pub of_std: fn(&Tensor) -> Result<Tensor>,
    /// From y − μ and ln σ.
    pub of_distance: fn(&Tensor, &Tensor) -> Result<Tensor>,
    pub mean: fn(&Tensor) -> Result<Tensor>,
}

pub const TERMS: Terms = Terms {
    constant: 0.918_938_533_204_672_8,
    of_std: |log_std| Ok(log_std.clone()),
    of_distance: |d, log_std| (d * log_std.neg()?.exp()?)?.sqr()? * 0.5,
    mean: |x| x.mean_all(),
};

pub fn gaussian(mean: &Tensor, log_std: &Tensor, target: &Tensor, by: Terms) -> Result<Tensor> {
    alike(mean, log_std, target)?;
    let distance = (target - mean)?;
    let terms = ((by.of_distance)(&distance, log_std)? + (by.of_std)(log_std)?)?;
    (by.mean)(&(terms + by.constant)?)
}

/// What the loss of mixtures may do differently.
#[derive(Clone, Copy)]
pub struct Mixing {
    /// ln w, from the logits.
    pub weights: fn(&Tensor) -> Result<Tensor>,
    /// ln N, from y − μ and ln σ.
    pub density: fn(&Tensor, &Tensor) -> Result<Tensor>,
    /// The row's likelihood, [n], from ln w and ln N.
    pub sum: fn(&Tensor, &Tensor) -> Result<Tensor>,
    pub mean: fn(&Tensor) -> Result<Tensor>,
}

pub const MIXING: Mixing = Mixing {
    weights: log_weights,
    density: |d, log_std| {
        let z = (d * log_std.neg()?.exp()?)?;
        ((z.sqr()? * -0.5)? - log_std)? - 0.5 * TAU.ln()
    },
    sum: |w, n| log_sum_exp(&(w + n)?),
    mean: |x| x.mean_all()?.neg(),
};

pub fn log_weights(logits: &Tensor) -> Result<Tensor> {
    logits.broadcast_sub(&log_sum_exp(logits)?.unsqueeze(1)?)
}

/// Over the last dimension.
pub fn log_sum_exp(x: &Tensor) -> Result<Tensor> {
    let top = x.max_keepdim(D::Minus1)?;
    let sum = x.broadcast_sub(&top)?.exp()?.sum_keepdim(D::Minus1)?;
    (sum.log()? + top)?.squeeze(D::Minus1)
}

pub type Mixture<'a> = (&'a Tensor, &'a Tensor, &'a Tensor, &'a Tensor);

pub fn mixed((logits, mean, log_std, target): Mixture, by: Mixing) -> Result<Tensor> {
    let (n, k) = logits.dims2()?;
    if mean.dims() != [n, k] || log_std.dims() != [n, k] || target.dims() != [n] {
        bail!("the shapes do not fit");
    }
    blended((logits, mean, log_std, target), by)
}

/// Without a test of the shapes.
pub fn blended((logits, mean, log_std, target): Mixture, by: Mixing) -> Result<Tensor> {
    let distance = target.unsqueeze(1)?.broadcast_sub(mean)?;
    let (weights, density) = ((by.weights)(logits)?, (by.density)(&distance, log_std)?);
    (by.mean)(&(by.sum)(&weights, &density)?)
}

/// The values in order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut list = values.to_vec();
    list.sort_by(f64::total_cmp);
    list
}

/// The least value, and of each further edge the index among the sorted values; equal edges merged.
pub fn edges_at(values: &[f64], bins: usize, index: impl Fn(usize, usize) -> usize) -> Vec<f64> {
    let list = sorted(values);
    let n = list.len();
    let mut edges = vec![list[0]];
    edges.extend((1..=bins).map(|i| list[index(i, n).min(n - 1)]));
    edges.dedup();
    edges
}

/// What a quantile of bins may do differently.
#[derive(Clone, Copy)]
pub struct Quantile {
    /// Whether the sum of probabilities up to a bin's end is enough for q.
    pub reached: fn(f64, f64) -> bool,
    /// From the bin's edges, its probability, and what is missing in it of q.
    pub within: fn(f64, f64, f64, f64) -> f64,
    /// If no bin reaches q: from the edges, and the upper edge of the last bin with a probability.
    pub beyond: fn(&[f64], f64) -> f64,
}

pub const QUANTILE: Quantile = Quantile {
    reached: |sum, q| sum >= q,
    within: |low, high, p, missing| low + missing / p * (high - low),
    beyond: |_, last| last,
};

pub fn quantile(edges: &[f64], probabilities: &[f64], q: f64, by: Quantile) -> f64 {
    let (mut below, mut last) = (0.0, edges[0]);
    for (i, &p) in probabilities.iter().enumerate() {
        if p <= 0.0 {
            continue;
        }
        if (by.reached)(below + p, q) {
            return (by.within)(edges[i], edges[i + 1], p, q - below);
        }
        below += p;
        last = edges[i + 1];
    }
    (by.beyond)(edges, last)
}

/// Mean, median and interval with another quantile.
pub fn summary(edges: &[f64], probabilities: &[f64], coverage: f64, by: Quantile) -> Summary {
    let of = |q| quantile(edges, probabilities, q, by);
    Summary {
        mean: mean(edges, probabilities, |low, high| 0.5 * (low + high)),
        median: of(0.5),
        lower: of(0.5 * (1.0 - coverage)),
        upper: of(0.5 * (1.0 + coverage)),
    }
}

/// Σ p times what stands for a bin.
pub fn mean(edges: &[f64], probabilities: &[f64], centre: fn(f64, f64) -> f64) -> f64 {
    let bins = edges.windows(2).zip(probabilities);
    bins.map(|(e, p)| p * centre(e[0], e[1])).sum()
}

/// For each level the share of PITs that are `inside`.
pub fn shares(pits: &[f64], levels: &[f64], inside: fn(f64, f64) -> bool) -> Vec<f64> {
    let share = |&c: &f64| pits.iter().filter(|&&u| inside(u, c)).count() as f64 / pits.len() as f64;
    levels.iter().map(share).collect()
}

/// Whether u is in the central interval of level c.
pub fn central(u: f64, c: f64) -> bool {
    0.5 * (1.0 - c) <= u && u <= 0.5 * (1.0 + c)
}

/// What the CRPS of bins may do differently.
#[derive(Clone, Copy)]
pub struct Score {
    /// The integral over a width w on which F − H goes from a to b.
    pub piece: fn(f64, f64, f64) -> f64,
    /// The share of a bin that is below the target, as it is counted.
    pub split: fn(f64) -> f64,
    /// H from the target on.
    pub step: f64,
    /// What a target below the edges and one above them adds, from its distance.
    pub outside: [fn(f64) -> f64; 2],
}

pub const SCORE: Score = Score {
    piece: |w, a, b| w * (a * a + a * b + b * b) / 3.0,
    split: |share| share,
    step: 1.0,
    outside: [|d| d, |d| d],
};

pub fn scored(edges: &[f64], probabilities: &[f64], target: f64, by: Score) -> f64 {
    let below_edges = (edges[0] - target).max(0.0);
    let above_edges = (target - edges[edges.len() - 1]).max(0.0);
    let mut score = (by.outside[0])(below_edges) + (by.outside[1])(above_edges);
    let mut below = 0.0;
    for (e, p) in edges.windows(2).zip(probabilities) {
        let width = e[1] - e[0];
        let share = (by.split)(((target - e[0]) / width).clamp(0.0, 1.0));
        let (middle, above) = (below + share * p, below + p);
        score += (by.piece)(share * width, below, middle);
        score += (by.piece)((1.0 - share) * width, middle - by.step, above - by.step);
        below = above;
    }
    score
}
