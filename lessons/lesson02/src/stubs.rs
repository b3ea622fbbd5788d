//! Lesson 02: PointNet. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson02` checks the lesson, `cargo test -p lesson02 2.1` one exercise. `cargo course hint 2.1` shows a
//! hint.

use candle_core::{D, DType, Result, Tensor};
use canopy_data::Philox;

/// Moves a cloud so that its centroid, the mean of its points, is at the origin, and scales it so that its farthest
/// point is at distance 1.
///
/// All three axes are scaled by the same factor, nothing is rotated, and the points keep their order. If all points
/// are identical, they end at the origin, however many they are. Any other cloud is scaled; its extent along at least
/// one axis is 1e-8 or more. A cloud may be empty. It may have many thousand points, and may be a kilometre from the
/// origin of its coordinates: sum, divide by the number of points, and subtract in f64. After that, f32 is enough.
pub fn normalise(points: &mut [[f32; 3]]) {
    todo!("2.1: the centroid, the greatest distance from it, then move and scale each point")
}

/// One layer of a shared MLP: relu(w·p + b) for each point p of each cloud, with the same w and b for all of them.
///
/// `x` is `[clouds, points, in]`, `w` is `[out, in]`, `b` is `[out]`; the result is `[clouds, points, out]`. All are of
/// one dtype, f32 or f64. relu(y) is y if y is above 0, and 0 otherwise. `backward` can run through the result to all
/// three. A single call multiplies all points by the weights, without a loop over clouds or points.
pub fn shared_layer(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    todo!("2.2: all points as the rows of one matrix, times the weights, plus the bias, then ReLU")
}

/// The maximum of each channel over the points of a cloud: `[clouds, points, channels]` → `[clouds, channels]`.
///
/// There is at least one point, and all values are finite. The result has the dtype of `x`, f32 or f64. `backward`
/// gives the whole gradient of a channel to the point with the maximum, and none to the others. If several points have
/// the maximum, the first of them gets it.
pub fn max_points(x: &Tensor) -> Result<Tensor> {
    todo!("2.3: which point has the greatest value of each channel, and that value")
}

/// The output of a T-Net as matrices: I plus the numbers of each cloud, filled in row by row.
///
/// `x` is `[clouds, k·k]`; the result is `[clouds, k, k]`, in the dtype of `x`, f32 or f64. If all numbers are 0, as
/// before training, each matrix is the identity I, and the T-Net changes nothing. `backward` can run through the
/// result.
pub fn to_matrix(x: &Tensor, k: usize) -> Result<Tensor> {
    todo!("2.4: reshape to matrices, and add 1 to each diagonal")
}

/// How far matrices A are from orthogonal: ‖I − A·Aᵀ‖², the sum of the squares of all entries, averaged over the
/// clouds.
///
/// `a` is `[clouds, k, k]`. The result is one number (shape `[]`) in the dtype of `a`, f32 or f64. `backward` can run
/// through it.
pub fn orthogonality(a: &Tensor) -> Result<Tensor> {
    todo!("2.5: A·Aᵀ of each cloud, its difference from I, squares, sum, mean over the clouds")
}

/// Rotates a cloud about the trunk, the z axis, by `angle` in radians, counter-clockwise as seen from above.
///
/// A quarter of a turn takes the x axis to the y axis. `angle` may be negative, and may be a million turns: take its
/// sine and cosine in f64, and multiply in f64 or in f32. No point changes its height, not even by rounding.
pub fn turn(points: &mut [[f32; 3]], angle: f64) {
    todo!("2.6: x and y of each point, by the sine and the cosine of the angle")
}

/// Adds noise to each coordinate: `deviation` times a draw of `random.normal()`, where draws beyond ±5 count as ±5.
///
/// There is one draw for each coordinate: x, y, z of the first point, then of the second, and so on. A draw is an f64;
/// scale and add it in f64 or in f32. If `deviation` is 0, the cloud does not change; you may draw or not. It is never
/// below 0. All randomness comes from `random`: the same seed gives the same noise, and the next call gives new noise.
pub fn jitter(points: &mut [[f32; 3]], deviation: f32, random: &mut Philox) {
    todo!("2.7: a draw for each coordinate: clamp, scale, add")
}

/// The critical points of one cloud: the points that survive the max. `values` is `[points, channels]` of f32, the
/// output of a ReLU, so no value is below 0. There is at least one point and one channel.
///
/// The result contains the index of each point that has the maximum of at least one channel, once, in ascending
/// order. If several points have the maximum of a channel, only the first counts. A channel whose maximum is 0 does
/// not count: it would be 0 without any of its points. Every maximum above 0 counts, however small it is. If no channel
/// counts, the result is empty.
pub fn survivors(values: &Tensor) -> Result<Vec<usize>> {
    todo!("2.8: the point of each channel's maximum if that is above 0; sorted, without duplicates")
}
