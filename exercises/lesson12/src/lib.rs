//! Lesson 12: inputs and targets. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson12` checks the lesson, `cargo test -p lesson12 12.2` one exercise. `cargo course hint 12.2`
//! shows a hint.

use candle_core::{DType, Result, Tensor, bail};
use canopy::target::{SparseGradient, Summary};

/// Returns the rows of `table`, `[categories, width]`, that `ids` selects, in the order of `ids`: `[ids.len(), width]`.
///
/// The result has the dtype of `table`, and `backward` through it reaches `table`. `ids` may be empty, and `table` may
/// be a transposed view. Returns an error if an id is not below `categories`.
pub fn embed(table: &Tensor, ids: &[u32]) -> Result<Tensor> {
    todo!("12.1: test the ids, then select rows")
}

/// Returns the gradient of `table` in `embed`, given the gradient `grad` of its result.
///
/// `rows` contains each id once, ascending. Row i of `values` is the sum of the rows of `grad` with id `rows[i]`, in
/// the dtype of `grad`. `ids` may be empty, and `grad` a transposed view. Returns an error unless `grad` has one row
/// per id.
pub fn embedding_gradient(ids: &[u32], grad: &Tensor) -> Result<SparseGradient> {
    todo!("12.1: the different ids, and the sum of the rows of each")
}

/// Returns the negative log-likelihood of targets y under Gaussians: the mean over all n of
/// ½·ln 2π + ln σ + ½·((y − μ)/σ)².
///
/// `mean` (μ), `log_std` (ln σ) and `target` (y) are `[n]` of f32. The result is a scalar, and `backward` through it
/// reaches all three. For ln σ from −60 to 60, the result and its gradients are finite if f32 can represent them.
/// Returns an error if the shapes differ.
pub fn gaussian_nll(mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<Tensor> {
    todo!("12.2: the distance in units of σ, three terms, the mean")
}

/// Returns the negative log-likelihood of targets y under mixtures of k Gaussians: the mean over all n of
/// −ln Σⱼ wⱼ·N(y; μⱼ, σⱼ), where w is the softmax of the row's `logits`.
///
/// `logits`, `mean` (μ) and `log_std` (ln σ) are `[n, k]`, and `target` is `[n]`, all of f32. The result is a scalar,
/// and `backward` through it reaches all four. It and its gradients are finite even for targets tens of thousands of σ
/// away from each component, and for logits of ±10,000. Returns an error if the shapes do not fit.
pub fn mixture_nll(logits: &Tensor, mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<Tensor> {
    todo!("12.3: ln w + ln N for each component, log-sum-exp over them, the mean")
}

/// Returns the ascending edges of `bins` bins with about equally many `values` each.
///
/// Edge 0 is the smallest value. Edge i is the smallest value v such that at least i/bins of all values are at most v,
/// counted with integers. Equal edges are merged. `values` may be in any order, and fewer than `bins`.
pub fn quantile_bins(values: &[f64], bins: usize) -> Vec<f64> {
    todo!("12.4: sort, pick, merge")
}

/// Returns the index of the bin that contains `value`.
///
/// Bin i contains its upper edge `edges[i + 1]`, but not its lower edge. The first bin also contains its lower edge and
/// all values below, and the last bin all values above.
pub fn bin_of(edges: &[f64], value: f64) -> usize {
    todo!("12.4: count the inner edges below the value")
}

/// Summarises a forecast: bin i, from `edges[i]` to `edges[i + 1]`, has the probability `probabilities[i]`. Within a
/// bin, all values are equally likely.
///
/// The quantile q is the smallest v within the edges for which the probability of all values up to v is at least q. If
/// there is no such v, the quantile is the upper edge of the last bin whose probability is not 0. `lower` and `upper`
/// are the quantiles (1 ∓ `coverage`)/2, and `coverage` is below 1.
pub fn summarise(edges: &[f64], probabilities: &[f64], coverage: f64) -> Summary {
    todo!("12.5: the centres for the mean, the cumulated probabilities for the rest")
}

/// Returns, for each level c of `levels`, in their order, the share of `pits` u with (1 − c)/2 ≤ u ≤ (1 + c)/2.
pub fn calibration(pits: &[f64], levels: &[f64]) -> Vec<f64> {
    todo!("12.6: count the values within each interval")
}

/// Returns the CRPS of a forecast in the bins of `summarise`: ∫ (F(x) − H(x))² dx over all x.
///
/// F(x) is the probability of all values up to x. H(x) is 0 below `target` and 1 from it on. If `target` is outside the
/// edges, the integral includes its distance from the nearest edge.
pub fn crps(edges: &[f64], probabilities: &[f64], target: f64) -> f64 {
    todo!("12.7: the bins below the target, the bin around it, the bins above, and the distance outside")
}
