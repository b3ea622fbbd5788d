//! Lesson 12: inputs and targets. The third hints, completed.

use candle_core::{DType, Result, Tensor, bail};
use canopy::target::{SparseGradient, Summary};

pub fn embed(table: &Tensor, ids: &[u32]) -> Result<Tensor> {
    let (categories, width) = table.dims2()?;
    if let Some(id) = ids.iter().find(|&&id| id as usize >= categories) {
        bail!("id {id}, but the table has {categories} rows");
    }
    if ids.is_empty() {
        return Tensor::zeros((0, width), table.dtype(), table.device());
    }
    let ids = Tensor::new(ids, table.device())?;
    table.contiguous()?.index_select(&ids, 0)
}

pub fn embedding_gradient(ids: &[u32], grad: &Tensor) -> Result<SparseGradient> {
    let (count, width) = grad.dims2()?;
    if count != ids.len() {
        bail!("{count} rows of gradients for {} ids", ids.len());
    }
    let mut rows = ids.to_vec();
    rows.sort_unstable();
    rows.dedup();
    let zeros = Tensor::zeros((rows.len(), width), grad.dtype(), grad.device())?;
    if ids.is_empty() {
        return Ok(SparseGradient { rows, values: zeros });
    }
    let place = |id: &u32| rows.partition_point(|row| row < id) as u32;
    let places: Vec<u32> = ids.iter().map(place).collect();
    let places = Tensor::new(places, grad.device())?;
    let values = zeros.index_add(&places, &grad.contiguous()?, 0)?;
    Ok(SparseGradient { rows, values })
}

pub fn gaussian_nll(mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<Tensor> {
    let constant = 0.5 * std::f64::consts::TAU.ln();
    let z = ((target - mean)? * log_std.neg()?.exp()?)?;
    let terms = ((z.sqr()? * 0.5)? + log_std)?;
    (terms + constant)?.mean_all()
}

pub fn mixture_nll(logits: &Tensor, mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<Tensor> {
    let constant = 0.5 * std::f64::consts::TAU.ln();
    let (n, k) = logits.dims2()?;
    if mean.dims() != [n, k] || log_std.dims() != [n, k] || target.dims() != [n] {
        bail!("the shapes do not fit");
    }
    let log_sum_exp = |x: &Tensor| -> Result<Tensor> {
        let top = x.max_keepdim(1)?.detach();
        let sum = x.broadcast_sub(&top)?.exp()?.sum_keepdim(1)?;
        sum.log()? + top
    };
    let log_weight = logits.broadcast_sub(&log_sum_exp(logits)?)?;
    let z = (target.unsqueeze(1)?.broadcast_sub(mean)? * log_std.neg()?.exp()?)?;
    let log_density = (((z.sqr()? * -0.5)? - log_std)? - constant)?;
    log_sum_exp(&(log_weight + log_density)?)?.mean_all()?.neg()
}

pub fn quantile_bins(values: &[f64], bins: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let mut edges = vec![sorted[0]];
    for i in 1..=bins {
        edges.push(sorted[(i * n).div_ceil(bins) - 1]);
    }
    edges.dedup();
    edges
}

pub fn bin_of(edges: &[f64], value: f64) -> usize {
    let inner = &edges[1..edges.len() - 1];
    inner.partition_point(|edge| *edge < value)
}

pub fn summarise(edges: &[f64], probabilities: &[f64], coverage: f64) -> Summary {
    let bins = || edges.windows(2).zip(probabilities);
    let quantile = |q: f64| {
        let (mut below, mut last) = (0.0, edges[0]);
        for (edge, &p) in bins().filter(|(_, p)| **p > 0.0) {
            if below + p >= q {
                return edge[0] + (q - below) / p * (edge[1] - edge[0]);
            }
            below += p;
            last = edge[1];
        }
        last
    };
    Summary {
        mean: bins().map(|(edge, p)| p * 0.5 * (edge[0] + edge[1])).sum(),
        median: quantile(0.5),
        lower: quantile(0.5 * (1.0 - coverage)),
        upper: quantile(0.5 * (1.0 + coverage)),
    }
}

pub fn calibration(pits: &[f64], levels: &[f64]) -> Vec<f64> {
    let share = |c: &f64| {
        let (low, high) = (0.5 * (1.0 - c), 0.5 * (1.0 + c));
        let inside = pits.iter().filter(|u| (low..=high).contains(*u));
        inside.count() as f64 / pits.len() as f64
    };
    levels.iter().map(share).collect()
}

pub fn crps(edges: &[f64], probabilities: &[f64], target: f64) -> f64 {
    let piece = |w: f64, a: f64, b: f64| w * (a * a + a * b + b * b) / 3.0;
    let (first, last) = (edges[0], edges[edges.len() - 1]);
    let mut score = (first - target).max(0.0) + (target - last).max(0.0);
    let mut below = 0.0;
    for (edge, p) in edges.windows(2).zip(probabilities) {
        let width = edge[1] - edge[0];
        let share = ((target - edge[0]) / width).clamp(0.0, 1.0);
        let (middle, above) = (below + share * p, below + p);
        score += piece(share * width, below, middle);
        score += piece((1.0 - share) * width, middle - 1.0, above - 1.0);
        below = above;
    }
    score
}
