//! Clouds of different lengths side by side: padded to the longest, with a mask that says what is real.

use candle_core::{Device, Result, Tensor, bail};

/// Points `[clouds, longest, 3]` and mask `[clouds, longest]`, both f32: 1 where a point is, 0 where there is none. Padding
/// is at the origin, behind each cloud's own points, which keep their order.
///
/// `PointNet::forward_masked` removes the padding again before the first layer.
///
/// # Errors
/// A cloud without points, by its place; no cloud at all.
pub fn collate_ragged(clouds: &[Vec<[f32; 3]>], device: &Device) -> Result<(Tensor, Tensor)> {
    if let Some(empty) = clouds.iter().position(Vec::is_empty) {
        bail!("cloud {empty} of the batch has no points: leave it out, there is nothing to learn from it");
    }
    let Some(longest) = clouds.iter().map(Vec::len).max() else {
        bail!("a batch of no clouds: there must be at least one");
    };
    let mut points = vec![0f32; clouds.len() * longest * 3];
    let mut mask = vec![0f32; clouds.len() * longest];
    for (i, cloud) in clouds.iter().enumerate() {
        let from = i * longest;
        points[3 * from..3 * (from + cloud.len())].copy_from_slice(cloud.as_flattened());
        mask[from..from + cloud.len()].fill(1.0);
    }
    Ok((
        Tensor::from_vec(points, (clouds.len(), longest, 3), device)?,
        Tensor::from_vec(mask, (clouds.len(), longest), device)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cloud_comes_first_in_its_row_and_padding_is_marked() {
        let clouds = vec![vec![[1.0, 2.0, 3.0]], vec![[4.0; 3], [5.0; 3], [6.0; 3]]];
        let (points, mask) = collate_ragged(&clouds, &Device::Cpu).unwrap();
        let rows = points.to_vec3::<f32>().unwrap();
        assert_eq!(rows[0], [[1.0, 2.0, 3.0], [0.0; 3], [0.0; 3]]);
        assert_eq!(rows[1], clouds[1]);
        assert_eq!(mask.to_vec2::<f32>().unwrap(), [[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]);
    }

    #[test]
    fn an_empty_cloud_is_named_by_its_place() {
        let said = |clouds: &[Vec<[f32; 3]>]| collate_ragged(clouds, &Device::Cpu).unwrap_err().to_string();
        assert!(said(&[vec![[1.0; 3]], vec![]]).contains("cloud 1"));
        assert!(said(&[]).contains("no clouds"));
    }
}
