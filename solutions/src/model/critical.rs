use anyhow::{Result, ensure};
use candle_core::{DType, Tensor};

use super::{PointNet, layers};
use crate::kernels::Pass;

impl PointNet {
    /// The critical points of one cloud `[points, inputs]` (Qi et al. 2017, section 4.3): the indices, in
    /// order, of the points that at least one channel took its maximum from; of equal points the first.
    /// A channel whose maximum is 0 has it from the ReLU, and counts for no point.
    ///
    /// # Errors
    /// Returns an error for a cloud of another shape, and candle's errors.
    pub fn critical_points(&self, cloud: &Tensor) -> Result<Vec<usize>> {
        ensure!(
            cloud.rank() == 2,
            "critical points: expected one cloud of shape [points, {}], got {:?}",
            self.config().inputs,
            cloud.dims()
        );
        let pass = Pass::eval();
        let mut between = self.start(&cloud.unsqueeze(0)?, None, &pass)?;
        for part in 0..self.parts_before_max() {
            self.part(part, &mut between, None, &pass)?;
        }
        let wide = layers::forward(self.after_transforms(), &between.x, &pass)?.detach();
        Ok(survivors(&wide)?)
    }
}

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
