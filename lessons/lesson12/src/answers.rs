//! Lesson 12: the third hint of each exercise, completed as a student does who has no other idea. `M` is 0 here; each
//! other number is one known mistake, whose cause is in the exercise's file.

use candle_core::{D, Result, Tensor, bail};
use canopy::target::{SparseGradient, Summary};

pub fn embed<const M: u8>(table: &Tensor, ids: &[u32]) -> Result<Tensor> {
    let (categories, _) = table.dims2()?;
    if let Some(id) = ids.iter().find(|&&id| M != 1 && id as usize >= categories) {
        bail!("id {id}, but the table has {categories} rows");
    }
    let ids = Tensor::new(ids, table.device())?;
    table.index_select(&ids, 0)
}

pub fn embedding_gradient<const M: u8>(ids: &[u32], grad: &Tensor) -> Result<SparseGradient> {
    let (count, width) = grad.dims2()?;
    if count != ids.len() {
        bail!("{count} rows of gradients for {} ids", ids.len());
    }
    let mut rows = ids.to_vec();
    if M != 2 {
        rows.sort_unstable();
    }
    if M != 3 {
        rows.dedup();
    }
    let zeros = Tensor::zeros((rows.len(), width), grad.dtype(), grad.device())?;
    let place = |id: &u32| rows.partition_point(|row| row < id) as u32;
    let places: Vec<u32> = ids.iter().map(place).collect();
    let places = Tensor::new(places, grad.device())?;
    let values = zeros.index_add(&places, &grad.contiguous()?, 0)?;
    Ok(SparseGradient { rows, values })
}

pub fn gaussian_nll<const M: u8>(mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<Tensor> {
    let constant = 0.5 * std::f64::consts::TAU.ln();
    let constant = if M == 1 { 0.0 } else { constant };
    let z = ((target - mean)? * log_std.neg()?.exp()?)?;
    let distance = (target - mean)?;
    let z = match M {
        3 => (distance * log_std.exp()?)?,
        5 => (distance / log_std.exp()?)?,
        _ => z,
    };
    let terms = ((z.sqr()? * 0.5)? + log_std)?;
    let terms = if M == 2 { (terms - log_std)? } else { terms };
    if M == 4 {
        return (terms + constant)?.mean_all()?.neg();
    }
    (terms + constant)?.mean_all()
}

pub fn mixture_nll<const M: u8>(logits: &Tensor, mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<Tensor> {
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
    let log_weight = if M == 5 { logits.clone() } else { log_weight };
    let z = (target.unsqueeze(1)?.broadcast_sub(mean)? * log_std.neg()?.exp()?)?;
    let log_density = (((z.sqr()? * -0.5)? - log_std)? - constant)?;
    let log_density = match M {
        1 => (log_density + constant)?,
        2 => (log_density + log_std)?,
        _ => log_density,
    };
    let terms = (&log_weight + &log_density)?;
    let of_rows = match M {
        3 => (log_weight.exp()? * &log_density)?.sum(D::Minus1)?,
        4 => terms.max(D::Minus1)?,
        6 => log_sum_exp(&terms)?.neg()?,
        7 => terms.exp()?.sum(D::Minus1)?.log()?,
        _ => log_sum_exp(&terms)?,
    };
    if M > 2 {
        return of_rows.mean_all()?.neg();
    }
    log_sum_exp(&(log_weight + log_density)?)?.mean_all()?.neg()
}

pub fn quantile_bins<const M: u8>(values: &[f64], bins: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    if M != 3 {
        sorted.sort_by(f64::total_cmp);
    }
    let n = sorted.len();
    let mut edges = vec![sorted[0]];
    for i in 1..=bins {
        match M {
            1 => edges.push(sorted[(i * n / bins).saturating_sub(1)]),
            2 if i < bins => edges.push(sorted[0] + i as f64 * (sorted[n - 1] - sorted[0]) / bins as f64),
            5 => edges.push(sorted[((i as f64 / bins as f64 * n as f64).ceil() as usize).min(n) - 1]),
            _ => {
                edges.push(sorted[(i * n).div_ceil(bins) - 1]);
            }
        }
    }
    if M == 4 {
        return edges;
    }
    edges.dedup();
    edges
}

pub fn bin_of<const M: u8>(edges: &[f64], value: f64) -> usize {
    let inner = &edges[1..edges.len() - 1];
    match M {
        6 => return inner.partition_point(|edge| *edge <= value),
        7 => return edges[1..].partition_point(|edge| *edge < value),
        _ => {}
    }
    inner.partition_point(|edge| *edge < value)
}

pub fn summarise<const M: u8>(edges: &[f64], probabilities: &[f64], coverage: f64) -> Summary {
    let bins = || edges.windows(2).zip(probabilities);
    let quantile = |q: f64| {
        let (mut below, mut last) = (0.0, edges[0]);
        for (edge, &p) in bins().filter(|(_, p)| **p > 0.0) {
            if below + p >= q {
                match M {
                    2 => return 0.5 * (edge[0] + edge[1]),
                    3 => return edge[0] + (q - below) * (edge[1] - edge[0]),
                    4 => return edge[0] + q / p * (edge[1] - edge[0]),
                    _ => {}
                }
                return edge[0] + (q - below) / p * (edge[1] - edge[0]);
            }
            below += p;
            last = edge[1];
        }
        last
    };
    let centre = |edge: &[f64]| if M == 1 { edge[0] } else { 0.5 * (edge[0] + edge[1]) };
    let (low, high) = match M {
        5 => (1.0 - coverage, coverage),
        6 => (0.5 * coverage, 1.0 - 0.5 * coverage),
        _ => (0.5 * (1.0 - coverage), 0.5 * (1.0 + coverage)),
    };
    Summary {
        mean: bins().map(|(edge, p)| p * centre(edge)).sum(),
        median: quantile(0.5),
        lower: quantile(low),
        upper: quantile(high),
    }
}

pub fn calibration<const M: u8>(pits: &[f64], levels: &[f64]) -> Vec<f64> {
    let share = |c: &f64| {
        let (low, high) = (0.5 * (1.0 - c), 0.5 * (1.0 + c));
        let (low, high) = match M {
            1 => (0.0, *c),
            2 => (0.5 * c, 1.0 - 0.5 * c),
            3 => (1.0 - c, *c),
            _ => (low, high),
        };
        let inside = pits.iter().filter(|u| (low..=high).contains(*u));
        match M {
            4 => return inside.count() as f64,
            5 => return (inside.count() / pits.len()) as f64,
            _ => {}
        }
        inside.count() as f64 / pits.len() as f64
    };
    levels.iter().map(share).collect()
}

pub fn crps<const M: u8>(edges: &[f64], probabilities: &[f64], target: f64) -> f64 {
    let piece = |w: f64, a: f64, b: f64| match M {
        1 => w * (a * a + b * b) / 2.0,
        2 => w * (0.5 * (a + b)).powi(2),
        3 => w * (a * a + a * b + b * b),
        _ => w * (a * a + a * b + b * b) / 3.0,
    };
    let (first, last) = (edges[0], edges[edges.len() - 1]);
    let outside = (first - target).max(0.0) + (target - last).max(0.0);
    let mut score = if M == 5 { 0.0 } else { outside };
    let mut below = 0.0;
    for (edge, p) in edges.windows(2).zip(probabilities) {
        let width = edge[1] - edge[0];
        let share = ((target - edge[0]) / width).clamp(0.0, 1.0);
        let share = if M == 4 { share.ceil() } else { share };
        let (middle, above) = (below + share * p, below + p);
        score += piece(share * width, below, middle);
        score += piece((1.0 - share) * width, middle - 1.0, above - 1.0);
        below = above;
    }
    score
}
