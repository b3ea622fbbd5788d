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
    let mut points = vec![0f32; clouds.len() * longest * C];
    let mut mask = vec![0f32; clouds.len() * longest];
    for (i, cloud) in clouds.iter().enumerate() {
        let from = i * longest;
        points[C * from..C * (from + cloud.len())].copy_from_slice(cloud.as_flattened());
        mask[from..from + cloud.len()].fill(1.0);
    }
    Ok((
        Tensor::from_vec(points, (clouds.len(), longest, C), device)?,
        Tensor::from_vec(mask, (clouds.len(), longest), device)?,
    ))
}

/// [`collate_ragged`] for clouds `[points, channels]`, with 3, 4 or 6 channels. Returns points and mask in host memory.
pub(super) fn ragged(clouds: &[Vec<f32>], channels: usize) -> Result<(Vec<f32>, Vec<f32>)> {
    fn of<const C: usize>(clouds: &[Vec<f32>]) -> Result<(Tensor, Tensor)> {
        let clouds: Vec<Vec<[f32; C]>> = clouds.iter().map(|c| c.as_chunks().0.to_vec()).collect();
        collate_ragged(&clouds, &Device::Cpu)
    }
    let (points, mask) = match channels {
        3 => of::<3>(clouds),
        4 => of::<4>(clouds),
        6 => of::<6>(clouds),
        _ => bail!("{channels} channels: points have 3, 4 or 6"),
    }?;
    Ok((points.flatten_all()?.to_vec1()?, mask.flatten_all()?.to_vec1()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_number_of_channels_are_padded() {
        for channels in [3, 4, 6] {
            let clouds = [vec![1.0; 2 * channels], vec![2.0; channels]];
            let (points, mask) = ragged(&clouds, channels).unwrap();
            let expected = [vec![1.0; 2 * channels], vec![2.0; channels], vec![0.0; channels]].concat();
            assert_eq!((points, mask), (expected, vec![1.0, 1.0, 1.0, 0.0]));
        }
        assert!(ragged(&[vec![1.0; 5]], 5).is_err());
    }
}
