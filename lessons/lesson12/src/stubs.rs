//! Lesson 12: inputs and targets. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson12` checks the lesson, `cargo test -p lesson12 12.2` one exercise. `cargo course hint 12.2`
//! shows a hint.

use candle_core::{DType, Result, Tensor};
use canopy::target::{SparseGradient, Summary};

/// The rows of `table`, [categories, width], that `ids` name, in the order of `ids`: [ids.len(), width].
///
/// An id may occur several times; without ids, the result is [0, width]. It has the dtype of `table`, f32 or f64, and
/// `backward` through it reaches `table`. `table` may be a transposed view, which is not contiguous. Returns an error
/// if an id is not below `categories`.
pub fn embed(table: &Tensor, ids: &[u32]) -> Result<Tensor> {
    todo!("12.1: test the ids, then select rows")
}

/// The gradient of a table after `embed(table, ids)`, from `grad`, [ids.len(), width], the gradient of the rows that
/// `embed` returned.
///
/// `rows` contains each id once, in ascending order. Row i of `values` is the sum of the rows of `grad` whose id is
/// `rows[i]`. `values` has the dtype of `grad`, f32 or f64; `grad` may be a transposed view. Without ids, `values` is
/// [0, width]. Returns an error if `grad` has not one row for each id.
pub fn embedding_gradient(ids: &[u32], grad: &Tensor) -> Result<SparseGradient> {
    todo!("12.1: the different ids, and the sum of the rows of each")
}

/// The mean negative log-likelihood of targets y under Gaussians: the mean over all n of
/// ½·ln 2π + ln σ + ½·((y − μ)/σ)².
///
/// `mean` has μ, `log_std` has ln σ, and `target` has y: each is `[n]` of f32, with n ≥ 1. The result is a scalar
/// (shape []), and `backward` through it reaches all three. For ln σ from −60 to 60, the result and its gradients are
/// finite where the formula is, although σ² does not fit in f32. Returns an error if the shapes differ.
pub fn gaussian_nll(mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<Tensor> {
    todo!("12.2: the distance in units of σ, three terms, the mean")
}

/// The mean negative log-likelihood of targets y under mixtures of k Gaussians: the mean over all n of
/// −ln Σⱼ wⱼ·N(y; μⱼ, σⱼ), where w is the softmax of the row's `logits` and N is the density of a Gaussian.
///
/// `logits`, `mean` (μ) and `log_std` (ln σ) are `[n, k]`, `target` is `[n]`, all of f32; n and k are at least 1. The
/// result is a scalar (shape []), and `backward` through it reaches all four. It and its gradients are finite also for
/// a target ten thousand σ away from each component, and for logits of ±10,000. Returns an error if the shapes do not
/// fit.
pub fn mixture_nll(logits: &Tensor, mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<Tensor> {
    todo!("12.3: ln w + ln N for each component, log-sum-exp over them, the mean")
}

/// The edges of `bins` bins with equally many of the n `values` each, as far as that is possible. They ascend.
///
/// The first edge is the least value. Edge i, from 1 to `bins`, is the least value v for which at least i/bins of all
/// values are at or below v. Count with integers: i/bins as a float may be slightly wrong. Equal edges are merged.
/// `values` are finite, in any order, and not all equal; `bins` is at least 1 and may be greater than n.
pub fn quantile_bins(values: &[f64], bins: usize) -> Vec<f64> {
    todo!("12.4: sort, pick, merge")
}

/// The index of the bin that contains `value`. Bin i contains its upper edge `edges[i + 1]`, but not its lower one,
/// `edges[i]`.
///
/// The first bin also contains its lower edge and all values below, the last bin all values above. `value` may be
/// infinite. There are at least two edges; each is greater than the one before.
pub fn bin_of(edges: &[f64], value: f64) -> usize {
    todo!("12.4: count the inner edges below the value")
}

/// Mean, median and central interval of a forecast in bins: bin i has the probability `probabilities[i]` and extends
/// from `edges[i]` to `edges[i + 1]`. Within a bin, all values are equally likely.
///
/// The quantile q is the least value v for which the probability of all values up to v is at least q. The median is
/// the quantile ½; `lower` and `upper` are the quantiles (1 − `coverage`)/2 and (1 + `coverage`)/2. There is at least
/// one bin; probabilities may be 0. Their sum is 1 up to rounding: if q is above it, the quantile is the upper edge of
/// the last bin whose probability is not 0.
pub fn summarise(edges: &[f64], probabilities: &[f64], coverage: f64) -> Summary {
    todo!("12.5: the centres for the mean, the cumulated probabilities for the rest")
}

/// How often central intervals contained the truth: for each level c of `levels`, in their order, the share of `pits`
/// u with (1 − c)/2 ≤ u ≤ (1 + c)/2.
///
/// A PIT (probability integral transform) u is the probability that a forecast gave to all values up to the true one.
/// There is at least one PIT. There may be no levels; they are between 0 and 1.
pub fn calibration(pits: &[f64], levels: &[f64]) -> Vec<f64> {
    todo!("12.6: count the values within each interval")
}

/// The continuous ranked probability score of a forecast in bins: ∫ (F(x) − H(x))² dx over all x, where F(x) is the
/// probability of all values up to x, and H(x) is 0 below `target` and 1 from it on.
///
/// The bins are those of `summarise`. Where F rises linearly from a to b over a width w, ∫ F² = w·(a² + a·b + b²)/3;
/// ∫ (F − 1)² is the same with a − 1 and b − 1. The bin that contains `target` has a part of each kind. A target
/// outside the edges adds its distance from the nearest edge.
pub fn crps(edges: &[f64], probabilities: &[f64], target: f64) -> f64 {
    todo!("12.7: the bins below the target, the bin around it, the bins above, and the distance outside")
}
