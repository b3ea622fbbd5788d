//! Lesson 02: PointNet. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson02` checks the lesson, `cargo test -p lesson02 2.1` one exercise. `cargo course hint 2.1` shows
//! a hint. All tensors are of f32, except indices.

use candle_core::{D, DType, Result, Tensor};
use canopy_data::Philox;

/// Moves the centroid to the origin, then scales all axes alike: the farthest point is at distance 1.
///
/// Sum, divide and subtract in f64. Identical points end at the origin.
pub fn normalise(points: &mut [[f32; 3]]) {
    todo!("2.1: the centroid, the greatest distance from it, then move and scale each point")
}

/// Returns relu(w·p + b) for every point p of `x`, `[clouds, points, in]`, as `[clouds, points, out]`, without a loop.
///
/// `w` is `[out, in]`, `b` is `[out]`. Gradients flow to all three inputs.
pub fn shared_layer(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    todo!("2.2: all points as the rows of one matrix, times the weights, plus the bias, then ReLU")
}

/// Returns the maximum of each channel over the points of a cloud: `[clouds, points, channels]` → `[clouds, channels]`.
///
/// Its whole gradient flows to the point with the maximum, or to the first of several.
pub fn max_points(x: &Tensor) -> Result<Tensor> {
    todo!("2.3: which point has the greatest value of each channel, and that value")
}

/// Turns the output of a T-Net, `[clouds, k·k]`, into matrices `[clouds, k, k]`: the identity plus the numbers of each
/// cloud, row by row. Gradients flow to `x`.
pub fn to_matrix(x: &Tensor, k: usize) -> Result<Tensor> {
    todo!("2.4: reshape to matrices, and add 1 to each diagonal")
}

/// Returns ‖I − A·Aᵀ‖², the sum of the squares of all entries, averaged over the clouds, of shape `[]`.
///
/// `a` contains the matrices A, `[clouds, k, k]`. Gradients flow to it.
pub fn orthogonality(a: &Tensor) -> Result<Tensor> {
    todo!("2.5: A·Aᵀ of each cloud, its difference from I, squares, sum, mean over the clouds")
}

/// Rotates a cloud about the z axis by `angle` radians, from the x axis toward the y axis.
///
/// Take sine and cosine in f64. Heights do not change.
pub fn turn(points: &mut [[f32; 3]], angle: f64) {
    todo!("2.6: x and y of each point, by the sine and the cosine of the angle")
}

/// Adds noise to each coordinate in order, x, y, z of the first point, then of the second: `deviation` times a draw of
/// `random.normal()` that is clamped to ±5.
pub fn jitter(points: &mut [[f32; 3]], deviation: f32, random: &mut Philox) {
    todo!("2.7: a draw for each coordinate: clamp, scale, add")
}

/// Returns the indices of the critical points of `values`, `[points, channels]`, each once, in ascending order: for
/// each channel, the first point with the maximum, if that is above 0.
pub fn survivors(values: &Tensor) -> Result<Vec<usize>> {
    todo!("2.8: the point of each channel's maximum if that is above 0; sorted, without duplicates")
}
