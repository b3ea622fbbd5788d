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
    let flat: Vec<&[f32]> = clouds.iter().map(|cloud| cloud.as_flattened()).collect();
    let (points, mask) = padded(&flat, C)?;
    let (count, longest) = (clouds.len(), mask.len() / clouds.len());
    Ok((
        Tensor::from_vec(points, (count, longest, C), device)?,
        Tensor::from_vec(mask, (count, longest), device)?,
    ))
}

/// [`collate_ragged`] for clouds `[points, channels]`. Returns points and mask in host memory.
pub(super) fn padded(clouds: &[impl AsRef<[f32]>], channels: usize) -> Result<(Vec<f32>, Vec<f32>)> {
    let lengths = clouds.iter().map(|cloud| cloud.as_ref().len() / channels);
    if let Some(empty) = lengths.clone().position(|length| length == 0) {
        bail!("cloud {empty} of the batch has no points: remove it from the data set");
    }
    let Some(longest) = lengths.clone().max() else {
        bail!("the batch has no clouds: it needs at least one");
    };
    let mut points = vec![0f32; clouds.len() * longest * channels];
    let mut mask = vec![0f32; clouds.len() * longest];
    for (i, (cloud, length)) in clouds.iter().zip(lengths).enumerate() {
        let from = i * longest;
        points[channels * from..channels * (from + length)].copy_from_slice(cloud.as_ref());
        mask[from..from + length].fill(1.0);
    }
    Ok((points, mask))
}
