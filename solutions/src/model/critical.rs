use candle_core::{DType, Tensor};

/// The points that survive the maximum over points: `[points, channels]` of values from a ReLU → the indices, in order and
/// each once, of the points that at least one channel takes its greatest value from; of equal points the first. A
/// channel whose greatest value is 0 got it from the ReLU, and counts for no point.
///
/// # Errors
/// Returns an error for another shape, or for a cloud without points.
pub fn survivors(values: &Tensor) -> candle_core::Result<Vec<usize>> {
    let greatest: Vec<f64> = values.max(0)?.to_dtype(DType::F64)?.to_vec1()?;
    let from: Vec<u32> = values.argmax(0)?.to_vec1()?;
    let mut points: Vec<usize> = from
        .iter()
        .zip(&greatest)
        .filter(|&(_, &value)| value > 0.0)
        .map(|(&point, _)| point as usize)
        .collect();
    points.sort_unstable();
    points.dedup();
    Ok(points)
}
