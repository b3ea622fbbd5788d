//! Clouds of different lengths in one batch: padded to the longest, with a mask that marks the real points.

use candle_core::{Device, Result, Tensor, bail};

/// Returns the points `[clouds, longest, C]` and the mask `[clouds, longest]`, both f32. The mask is 1 for a point and
/// 0 for padding. Each row starts with the points of its cloud in their order; all channels of the padding are 0.
///
/// `PointNet::forward_masked` removes the padding again before the first layer.
///
/// # Errors
/// Returns an error if there is no cloud, or if a cloud has no points; the message then contains the cloud's index.
pub fn collate_ragged<const C: usize>(clouds: &[Vec<[f32; C]>], device: &Device) -> Result<(Tensor, Tensor)> {
    if let Some(empty) = clouds.iter().position(Vec::is_empty) {
        bail!("cloud {empty} of the batch has no points: remove it from the data set");
    }
    let Some(longest) = clouds.iter().map(Vec::len).max() else {
        bail!("the batch has no clouds: it needs at least one");
    };
    let mut points = vec![[0f32; C]; clouds.len() * longest];
    let mut mask = vec![0f32; clouds.len() * longest];
    for (i, cloud) in clouds.iter().enumerate() {
        let real = i * longest..i * longest + cloud.len();
        points[real.clone()].copy_from_slice(cloud);
        mask[real].fill(1.0);
    }
    Ok((
        Tensor::from_vec(points.into_flattened(), (clouds.len(), longest, C), device)?,
        Tensor::from_vec(mask, (clouds.len(), longest), device)?,
    ))
}
