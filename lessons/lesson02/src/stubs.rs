//! Lesson 02: PointNet. Put your code where a `todo!` stands; the comment above says what is asked.
//!
//! `cargo test -p lesson02` checks all, `cargo test -p lesson02 2.1` one exercise. `cargo course hint 2.1` helps.

use candle_core::{D, DType, Result, Tensor};
use canopy_data::Philox;

/// Moves a cloud so that its centroid, the mean of its points, is the origin, and scales it so that its farthest point
/// is at distance 1.
///
/// One factor for all three axes, and no turning: what was up stays up. Points that all stand in one place end at the
/// origin. A cloud may have many thousand points, and lie a kilometre from the origin of its coordinates: sum and
/// subtract in f64.
pub fn normalise(points: &mut [[f32; 3]]) {
    todo!("2.1: the centroid, the greatest distance from it, then move and scale each point")
}

/// One layer of a shared MLP: relu(w·p + b) for each point p of each cloud, the same w and b for all of them.
///
/// `x` is `[clouds, points, in]`, `w` is `[out, in]`, `b` is `[out]`; the result is `[clouds, points, out]`. relu(y) is
/// y where y is above 0, and else 0. `backward` can run through it to all three. One product of matrices does it all.
pub fn shared_layer(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    todo!("2.2: all points as the rows of one matrix, times the weights, plus the bias, cut at 0")
}

/// The greatest value of each channel over the points of a cloud: `[clouds, points, channels]` → `[clouds, channels]`.
///
/// There is at least one point. `backward` gives the whole gradient of a channel to the point that had its greatest
/// value and none to the others; where several points have it, to the first of them.
pub fn max_points(x: &Tensor) -> Result<Tensor> {
    todo!("2.3: which point has the greatest value of each channel, and that value")
}

/// The output of a T-Net as matrices: I + the numbers of each cloud, row after row.
///
/// `x` is `[clouds, k·k]`; the result is `[clouds, k, k]`. Where all numbers are 0, as they are before training, each
/// matrix is the identity I, and the T-Net changes nothing. `backward` can run through it.
pub fn to_matrix(x: &Tensor, k: usize) -> Result<Tensor> {
    todo!("2.4: the shape of matrices, and 1 added along each diagonal")
}

/// How far matrices A are from orthogonal: ‖I − A·Aᵀ‖², the sum of the squares of all its entries, and of that the mean
/// over the clouds.
///
/// `a` is `[clouds, k, k]`. The result is one number (shape `[]`), and `backward` can run through it.
pub fn orthogonality(a: &Tensor) -> Result<Tensor> {
    todo!("2.5: A·Aᵀ of each cloud, how it differs from I, squares, sum, mean over the clouds")
}

/// Turns a cloud about the trunk, the z axis: by `angle` (radians), counter-clockwise seen from above.
///
/// So a quarter of a turn takes the x axis to the y axis. No point changes its height.
pub fn turn(points: &mut [[f32; 3]], angle: f64) {
    todo!("2.6: x and y of each point, by the sine and the cosine of the angle")
}

/// Adds noise to each coordinate: `deviation` times a draw of `random.normal()`, and draws beyond ±5 count as ±5. A draw
/// is an f64.
///
/// One draw for each coordinate: x, y, z of the first point, then of the second, and so on. Where `deviation` is 0, the
/// cloud stays as it is. All chance comes from `random`, so that the same seed gives the same cloud.
pub fn jitter(points: &mut [[f32; 3]], deviation: f32, random: &mut Philox) {
    todo!("2.7: a draw for each coordinate, cut, scaled, added")
}

/// The critical points of one cloud: which points survive the max. `values` is `[points, channels]`, out of a ReLU, so
/// none is below 0; there is at least one point.
///
/// The result is the indices of the points that at least one channel takes its greatest value from, each once, in
/// rising order. Of points with equal values the first counts. A channel whose greatest value is 0 counts for none: it
/// would have been 0 without any of them.
pub fn survivors(values: &Tensor) -> Result<Vec<usize>> {
    todo!("2.8: the point of each channel's greatest value, where that is above 0; sorted, each once")
}
