//! Known wrong answers to exercise 3.3.

use super::*;

pub const MISTAKES: &[Mistake<Lesson03>] = &[
    wrong!("3.3", pads_to_the_longest_cloud, "The batch is as wide as the first cloud: it must be as wide as the longest.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| c[0].len(), ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "Clouds are cut to the shortest: pad to the longest, so that no point is lost.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| c.iter().map(Vec::len).min().unwrap_or(0), ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "The batch is as wide as all clouds together: each cloud has a row of its own.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| c.iter().map(Vec::len).sum(), ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "The points are transposed: coordinates are the last axis, `[clouds, longest, 3]`.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points.transpose(1, 2)?, mask))
    }),
    wrong!("3.3", pads_to_the_longest_cloud, "The mask has a third axis: its shape is `[clouds, longest]`.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points, mask.unsqueeze(2)?))
    }),
    wrong!("3.3", pads_to_the_longest_cloud, "The mask has a value for each coordinate: it has one for each point, `[clouds, longest]`.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points, mask.unsqueeze(2)?.broadcast_as((c.len(), mask.dim(1)?, 3))?))
    }),
    wrong!("3.3", pads_to_the_longest_cloud, "Rows are padded to a power of two, or to a multiple of 8: pad to the longest cloud.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| (COLLATE.width)(c).next_multiple_of(8), ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "Rows are padded to a power of two, or to a multiple of 8: pad to the longest cloud.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| (COLLATE.width)(c).next_power_of_two(), ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "Rows are one point wider than the longest cloud.",
        collate_ragged: |c, d| collated(c, d, Collate { width: |c| (COLLATE.width)(c) + 1, ..COLLATE })),
    wrong!("3.3", pads_to_the_longest_cloud, "The points are a list of rows: give them the shape `(clouds, longest, 3)`.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points.flatten(1, 2)?, mask))
    }),
    wrong!("3.3", pads_to_the_longest_cloud, "Rows are as wide as the first cloud, so that a longer one does not fit: take the longest of all.",
    collate_ragged: |c, d| {
        let width = c.first().map_or(0, Vec::len);
        let mut points = Vec::new();
        for cloud in c {
            points.extend_from_slice(cloud.as_flattened());
            points.resize(points.len() + 3 * width.saturating_sub(cloud.len()), 0f32);
        }
        let (_, mask) = collated(c, d, COLLATE)?;
        Ok((Tensor::from_vec(points, (c.len(), width, 3), d)?, mask))
    }),
    wrong!("3.3", puts_points_first_in_their_row, "A row has all x of a cloud first, then all y, then all z: x, y and z of a point belong together, as in `as_flattened()`.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        let (clouds, longest) = mask.dims2()?;
        Ok((points.transpose(1, 2)?.reshape((clouds, longest, 3))?, mask))
    }),
    wrong!("3.3", puts_points_first_in_their_row, "The batch has all x first, then all y, then all z: x, y and z of a point belong together, as in `as_flattened()`.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        let shape = points.dims3()?;
        Ok((points.permute((2, 0, 1))?.reshape(shape)?, mask))
    }),
    wrong!("3.3", puts_points_first_in_their_row, "The points have another dtype; they should be f32.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points.to_dtype(DType::F64)?, mask))
    }),
    wrong!("3.3", puts_points_first_in_their_row, "The padding is not a number: it should be at the origin.",
        collate_ragged: |c, d| collated(c, d, Collate { padding: f32::NAN, ..COLLATE })),
    wrong!("3.3", puts_points_first_in_their_row, "The padding is 1 or −1: it should be at the origin, 0.",
        collate_ragged: |c, d| collated(c, d, Collate { padding: -1.0, ..COLLATE })),
    wrong!("3.3", puts_points_first_in_their_row, "Each cloud is moved to its centre: its points must not change.",
    collate_ragged: |c, d| {
        let moved = |cloud: &Vec<[f32; 3]>| {
            let n = cloud.len() as f32;
            let centre = [0, 1, 2].map(|a| cloud.iter().map(|p| p[a]).sum::<f32>() / n);
            cloud.iter().map(|p| [0, 1, 2].map(|a| p[a] - centre[a])).collect()
        };
        collated(&c.iter().map(moved).collect::<Vec<_>>(), d, COLLATE)
    }),
    wrong!("3.3", puts_points_first_in_their_row, "The clouds are sorted by length: keep their order, because the labels do.",
    collate_ragged: |c, d| {
        let mut clouds = c.to_vec();
        clouds.sort_by_key(|c| std::cmp::Reverse(c.len()));
        collated(&clouds, d, COLLATE)
    }),
    wrong!("3.3", puts_points_first_in_their_row, "Clouds follow each other without padding: cloud i starts at i·longest.",
        collate_ragged: |c, d| collated(c, d, Collate { begins: |c, i, _| c[..i].iter().map(Vec::len).sum(), ..COLLATE })),
    wrong!("3.3", puts_points_first_in_their_row, "The padding is before the points; it belongs after them.",
        collate_ragged: |c, d| collated(c, d, Collate { begins: |c, i, w| (i + 1) * w - c[i].len(), ..COLLATE })),
    wrong!("3.3", puts_points_first_in_their_row, "The padding repeats the last point; it should be at the origin.",
        collate_ragged: |c, d| collated(c, d, Collate { repeats: true, ..COLLATE })),
    wrong!("3.3", masks_the_padding, "The mask is inverted: 1 is a point, 0 is padding.",
        collate_ragged: |c, d| collated(c, d, Collate { marks: (0.0, 1.0), ..COLLATE })),
    wrong!("3.3", masks_the_padding, "The mask is 1 everywhere: it must be 0 for padding.",
        collate_ragged: |c, d| collated(c, d, Collate { marks: (1.0, 1.0), ..COLLATE })),
    wrong!("3.3", masks_the_padding, "The mask has another dtype; it should be f32.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points, mask.to_dtype(DType::U8)?))
    }),
    wrong!("3.3", masks_the_padding, "The mask follows from the coordinates, so that a point at the origin counts as padding: use the length of the cloud.",
    collate_ragged: |c, d| {
        let (points, _) = collated(c, d, COLLATE)?;
        let mask = points.abs()?.sum(2)?.ne(0f64)?.to_dtype(DType::F32)?;
        Ok((points, mask))
    }),
    wrong!("3.3", masks_the_padding, "The last point of a cloud counts as padding: the mask ends one too early.",
        collate_ragged: |c, d| collated(c, d, Collate { real: |n, _| n - 1, ..COLLATE })),
    wrong!("3.3", masks_the_padding, "The first padding counts as a point: the mask ends one too late.",
        collate_ragged: |c, d| collated(c, d, Collate { real: |n, width| (n + 1).min(width), ..COLLATE })),
    wrong!("3.3", masks_the_padding, "The mask is divided by the number of points: it is 1 for each.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        let mask = mask.broadcast_div(&mask.sum_keepdim(1)?)?;
        Ok((points, mask))
    }),
    wrong!("3.3", masks_the_padding, "The mask is of f64; it should be f32.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        Ok((points, mask.to_dtype(DType::F64)?))
    }),
    wrong!("3.3", accepts_a_single_cloud, "A batch of one cloud loses its first axis: its shape is `[1, longest, 3]`.",
    collate_ragged: |c, d| {
        let (points, mask) = collated(c, d, COLLATE)?;
        if c.len() == 1 { Ok((points.squeeze(0)?, mask.squeeze(0)?)) } else { Ok((points, mask)) }
    }),
    wrong!("3.3", rejects_a_cloud_without_points, "A cloud without points is left out, so that rows and labels no longer match: return an error.",
    collate_ragged: |c, d| {
        let real: Vec<Vec<[f32; 3]>> = c.iter().filter(|c| !c.is_empty()).cloned().collect();
        collated(&real, d, Collate { refuses: false, ..COLLATE })
    }),
    wrong!("3.3", rejects_a_cloud_without_points, "It panics, which ends the whole training: return an error, for example with `bail!`.",
    collate_ragged: |c, d| {
        assert!(!c.iter().any(Vec::is_empty), "a cloud has no points");
        collated(c, d, Collate { refuses: false, ..COLLATE })
    }),
    wrong!("3.3", rejects_a_batch_without_clouds, "A batch without clouds is accepted: return an error, for example with `bail!`.",
    collate_ragged: |c, d| {
        if c.is_empty() {
            return Ok((Tensor::zeros((0, 0, 3), DType::F32, d)?, Tensor::zeros((0, 0), DType::F32, d)?));
        }
        collated(c, d, COLLATE)
    }),
    wrong!("3.3", rejects_a_batch_without_clouds, "It panics for a batch without clouds: return an error, for example with `bail!`.",
    collate_ragged: |c, d| {
        assert!(!c.is_empty(), "there is no cloud");
        collated(c, d, COLLATE)
    }),
    wrong!("3.3", rejects_a_cloud_without_points, "A cloud without points is accepted as a row of padding: return an error.",
    collate_ragged: |c, d| {
        let real: Vec<Vec<[f32; 3]>> = c.iter().map(|c| if c.is_empty() { vec![[0.0; 3]] } else { c.clone() }).collect();
        collated(&real, d, Collate { refuses: false, ..COLLATE })
    }),
];
