//! Lesson 12: inputs and targets. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson12` checks the lesson, `cargo test -p lesson12 12.2` one exercise. `cargo course hint 12.2`
//! shows a hint.

use candle_core::{DType, Result, Tensor, bail};
use canopy::target::{SparseGradient, Summary};

/// Returns the row of `table`, `[categories, width]`, for each of `ids`, in the dtype of `table`. `backward` through it
/// reaches `table`. Returns an error if an id is not below `categories`.
pub fn embed(table: &Tensor, ids: &[u32]) -> Result<Tensor> {
    todo!("12.1: test the ids, then select rows")
}

/// Returns the gradient of `table` in `embed`, given the gradient `grad` of its result, contiguous or not. Row i of
/// `values` is the sum of the rows of `grad` with id `rows[i]`, in their dtype. Returns an error unless `grad` has
/// one row per id.
pub fn embedding_gradient(ids: &[u32], grad: &Tensor) -> Result<SparseGradient> {
    todo!("12.1: the different ids, and the sum of the rows of each")
}

/// Returns the mean over n targets y of `0.5·ln 2π + ln σ + 0.5·((y − μ)/σ)²`, a scalar, with `μ = mean`,
/// `ln σ = log_std` and `y = target`, all `[n]`. `backward` through it reaches all three.
///
/// For ln σ from −60 to 60, loss and gradients are finite if f32 can represent them. Returns an error if the shapes
/// differ.
pub fn gaussian_nll(mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<Tensor> {
    todo!("12.2: the distance in units of σ, three terms, the mean")
}

/// Returns the mean over n targets of `−ln Σⱼ wⱼ·N(y; μⱼ, σⱼ)`, a scalar, with `y = target`, `μ = mean`,
/// `ln σ = log_std` and w the softmax of each row of `logits`. `backward` through it reaches all four.
///
/// Loss and gradients are finite even 10,000 σ away from all components, and for logits of ±10,000. Returns an error
/// unless `target` is `[n]` and the others are `[n, k]`.
pub fn mixture_nll(logits: &Tensor, mean: &Tensor, log_std: &Tensor, target: &Tensor) -> Result<Tensor> {
    todo!("12.3: ln w + ln N for each component, log-sum-exp over them, the mean")
}

/// Returns the ascending edges of `bins` bins, without duplicates. Edge 0 is the smallest value, edge i the smallest
/// value that at least `i/bins` of all values do not exceed.
pub fn quantile_bins(values: &[f64], bins: usize) -> Vec<f64> {
    todo!("12.4: sort, pick, merge")
}

/// Returns the index of the bin that contains `value`.
///
/// Bin i contains v if `edges[i] < v <= edges[i + 1]`. The first bin also contains all lower values, and the last all
/// higher ones.
pub fn bin_of(edges: &[f64], value: f64) -> usize {
    todo!("12.4: count the inner edges below the value")
}

/// Summarises a forecast: bin i has the probability `probabilities[i]`, and within a bin, all values are equally
/// likely.
///
/// Quantile q is the smallest v within the edges such that the probability up to v is at least q, or else the upper
/// edge of the last bin whose probability is not 0. `lower` and `upper` are the quantiles `(1 ∓ coverage)/2`.
pub fn summarise(edges: &[f64], probabilities: &[f64], coverage: f64) -> Summary {
    todo!("12.5: the centres for the mean, the cumulated probabilities for the rest")
}

/// Returns, for each level c of `levels`, in their order, the share of `pits` u with `(1 − c)/2 ≤ u ≤ (1 + c)/2`.
pub fn calibration(pits: &[f64], levels: &[f64]) -> Vec<f64> {
    todo!("12.6: count the values within each interval")
}

/// Returns the CRPS of a forecast as in `summarise`: `∫ (F(x) − H(x))² dx` over all x, with the CDF F and the step H at
/// `target`. A target outside the edges adds its distance.
pub fn crps(edges: &[f64], probabilities: &[f64], target: f64) -> f64 {
    todo!("12.7: the bins below the target, the bin around it, the bins above, and the distance outside")
}
