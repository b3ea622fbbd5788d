//! Building blocks of wrong answers, and of right ones that are written another way.

use candle_core::{DType, Result, Tensor};
use canopy_data::Philox;

type Points = [[f32; 3]];

pub fn mean(points: &[[f32; 3]]) -> [f64; 3] {
    let n = points.len().max(1) as f64;
    [0, 1, 2].map(|a| points.iter().map(|p| f64::from(p[a])).sum::<f64>() / n)
}

pub fn moved(points: &mut [[f32; 3]], centre: [f64; 3]) {
    for p in points {
        (0..3).for_each(|a| p[a] = (f64::from(p[a]) - centre[a]) as f32);
    }
}

pub fn scaled(points: &mut [[f32; 3]], factor: f64) {
    let each = points.iter_mut().flatten();
    each.for_each(|c| *c = (f64::from(*c) * factor) as f32);
}

/// Centred, then each axis scaled by its own greatest coordinate.
pub fn by_axis(points: &mut Points) {
    moved(points, mean(points));
    for a in 0..3 {
        let far = points.iter().map(|p| p[a].abs()).fold(0.0, f32::max);
        points
            .iter_mut()
            .for_each(|p| p[a] /= if far > 0.0 { far } else { 1.0 });
    }
}

pub fn size(p: &[f32; 3]) -> f64 {
    p.iter().map(|&c| f64::from(c) * f64::from(c)).sum::<f64>().sqrt()
}

pub fn relu(x: &Tensor) -> Result<Tensor> {
    x * x.detach().gt(0.0)?.to_dtype(x.dtype())?
}

/// The identity, `[1, k, k]`, for matrices `[clouds, k, k]` or for rows of `k`.
pub fn eye(like: &Tensor) -> Result<Tensor> {
    let rows = like.dim(candle_core::D::Minus2)?;
    Tensor::eye(rows, like.dtype(), like.device())?.unsqueeze(0)
}

/// Of each channel of each cloud, `[clouds, points, channels]`, the value of the point that `which` names.
pub fn pick(x: &Tensor, which: fn(&[f64]) -> usize) -> Result<Tensor> {
    let (clouds, _, channels) = x.dims3()?;
    let columns = x
        .detach()
        .transpose(1, 2)?
        .to_dtype(DType::F64)?
        .to_vec3::<f64>()?;
    let chosen: Vec<u32> = columns.iter().flatten().map(|list| which(list) as u32).collect();
    let chosen = Tensor::from_vec(chosen, (clouds, 1, channels), x.device())?;
    x.gather(&chosen, 1)?.squeeze(1)
}

/// The channels of one point of each cloud, that with the greatest of `values`, `[clouds, points]`.
pub fn one_point(x: &Tensor, values: &Tensor) -> Result<Tensor> {
    let (clouds, _, channels) = x.dims3()?;
    let index = values.argmax_keepdim(1)?.unsqueeze(2)?;
    x.gather(&index.broadcast_as((clouds, 1, channels))?.contiguous()?, 1)?
        .squeeze(1)
}

pub fn farthest(points: &Points) -> f64 {
    points.iter().map(size).fold(0.0, f64::max)
}

/// Centred as it should be, then scaled by 1 over what `by` measures.
pub fn scaled_by(points: &mut Points, by: impl Fn(&Points) -> f64) {
    moved(points, mean(points));
    let by = by(points);
    scaled(points, if by > 0.0 { 1.0 / by } else { 1.0 });
}

/// Centred otherwise, then scaled as it should be.
pub fn centred_at(points: &mut Points, centre: [f64; 3]) {
    moved(points, centre);
    let far = farthest(points);
    scaled(points, if far > 0.0 { 1.0 / far } else { 1.0 });
}

/// Moved and scaled as it should be, but all of it in f32.
pub fn in_f32(points: &mut Points, centre: [f32; 3]) {
    let mut far = 0f32;
    for p in points.iter_mut() {
        (0..3).for_each(|a| p[a] -= centre[a]);
        far = far.max((p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt());
    }
    if far > 0.0 {
        points.iter_mut().flatten().for_each(|c| *c /= far);
    }
}

pub fn rows_times(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let (clouds, points, _) = x.dims3()?;
    x.flatten_to(1)?.matmul(&w.t()?)?.reshape((clouds, points, ()))
}

/// ‖I − A·Aᵀ‖² with something else made of the product (`of`), of what is off, and of the sum.
pub fn distance(
    a: &Tensor,
    of: fn(&Tensor) -> Result<Tensor>,
    entry: fn(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let off = eye(a)?.broadcast_sub(&of(a)?)?;
    entry(&off)?.sum_all()? / a.dim(0)? as f64
}

pub fn product(a: &Tensor) -> Result<Tensor> {
    a.matmul(&a.t()?)
}

/// Each point by the sine and cosine of `angle`, by another rule.
pub fn turned(points: &mut Points, angle: f64, rule: fn([f32; 3], f32, f32) -> [f32; 3]) {
    let (sin, cos) = angle.sin_cos();
    points
        .iter_mut()
        .for_each(|p| *p = rule(*p, sin as f32, cos as f32));
}

/// Each point by its polar coordinates in f32, with what `angle` makes of its own angle.
pub fn polar(points: &mut Points, angle: impl Fn(f32) -> f32) {
    for [x, y, _] in points {
        let (far, angle) = (x.hypot(*y), angle(y.atan2(*x)));
        (*x, *y) = (far * angle.cos(), far * angle.sin());
    }
}

pub fn right_turn([x, y, z]: [f32; 3], sin: f32, cos: f32) -> [f32; 3] {
    [cos * x - sin * y, sin * x + cos * y, z]
}

/// Noise on each coordinate by another rule of coordinate, draw and deviation.
pub fn noisy(points: &mut Points, deviation: f32, random: &mut Philox, rule: fn(f32, f64, f32) -> f32) {
    for c in points.iter_mut().flatten() {
        *c = rule(*c, random.normal(), deviation);
    }
}

pub fn cut(draw: f64) -> f32 {
    draw.clamp(-5.0, 5.0) as f32
}

/// The values of each channel of `[points, channels]`.
pub fn channels(x: &Tensor) -> Result<Vec<Vec<f64>>> {
    x.t()?.to_dtype(DType::F64)?.to_vec2()
}

/// The points that `chosen(values of a channel)` names, of the channels whose greatest value is above 0.
pub fn chosen(x: &Tensor, chosen: fn(&[f64]) -> Vec<usize>) -> Result<Vec<usize>> {
    let mut points = Vec::new();
    for channel in channels(x)?.iter().filter(|list| lives(list)) {
        points.extend(chosen(channel));
    }
    Ok(sorted(points))
}

/// The point of each channel's maximum, channel by channel, of the channels that `counts`.
pub fn winners(x: &Tensor, counts: fn(&[f64]) -> bool) -> Result<Vec<usize>> {
    let columns = channels(x)?;
    let living = columns.iter().filter(|list| counts(list));
    Ok(living.map(|list| equals(list, top(list))[0]).collect())
}

pub fn sorted(mut points: Vec<usize>) -> Vec<usize> {
    points.sort_unstable();
    points.dedup();
    points
}

pub fn top(list: &[f64]) -> f64 {
    list.iter().copied().fold(f64::MIN, f64::max)
}

pub fn equals(list: &[f64], value: f64) -> Vec<usize> {
    (0..list.len()).filter(|&p| list[p] == value).collect()
}

/// Whether a channel lives: its greatest value is above 0.
pub fn lives(list: &[f64]) -> bool {
    top(list) > 0.0
}
