//! Known wrong answers to exercise 2.1.

use super::*;

pub const MISTAKES: &[Mistake<Lesson02>] = &[
    wrong!("2.1", moves_the_centroid_to_the_origin,
        "The centre of the bounding box is used as the centroid; the centroid is the mean of the points.",
    normalise: |points| {
        let edge = |a: usize, pick: fn(f32, f32) -> f32| points.iter().map(|p| p[a]).reduce(pick).unwrap_or(0.0);
        let middle = [0, 1, 2].map(|a| f64::from(edge(a, f32::min) + edge(a, f32::max)) / 2.0);
        centred_at(points, middle);
    }),
    wrong!("2.1", moves_the_centroid_to_the_origin, "The cloud is scaled, but not moved.",
        normalise: |points| centred_at(points, [0.0; 3])),
    wrong!("2.1", moves_the_centroid_to_the_origin, "Only x and y are centred; the centroid has a height as well.",
    normalise: |points| {
        let [x, y, _] = mean(points);
        centred_at(points, [x, y, 0.0]);
    }),
    wrong!("2.1", scales_the_farthest_point_to_1, "The cloud is moved, but not scaled.",
        normalise: |points| scaled_by(points, |_| 1.0)),
    wrong!("2.1", scales_the_farthest_point_to_1, "The mean distance is scaled to 1; the greatest distance should be 1.",
        normalise: |points| scaled_by(points, |p| p.iter().map(size).sum::<f64>() / p.len().max(1) as f64)),
    wrong!("2.1", scales_the_farthest_point_to_1,
        "The greatest coordinate is used as the greatest distance, which is the root of x² + y² + z².",
        normalise: |points| scaled_by(points, |p| p.iter().flatten().fold(0.0, |m, &c| f64::from(c.abs()).max(m)))),
    wrong!("2.1", scales_the_farthest_point_to_1, "The root is missing: the cloud is scaled by the square of the distance.",
        normalise: |points| scaled_by(points, |p| farthest(p) * farthest(p))),
    wrong!("2.1", scales_the_farthest_point_to_1,
        "The distances are measured before the cloud is moved; measure them from the centroid.",
    normalise: |points| {
        let far = farthest(points);
        moved(points, mean(points));
        scaled(points, if far > 0.0 { 1.0 / far } else { 1.0 });
    }),
    wrong!("2.1", preserves_shape_and_orientation,
        "Each axis is scaled by a factor of its own: every tree becomes as wide as it is tall.",
        normalise: |points| by_axis(points)),
    wrong!("2.1", preserves_shape_and_orientation,
        "Each axis is scaled by a factor of its own: every tree becomes as wide as it is tall.",
    normalise: |points| {
        by_axis(points);
        scaled_by(points, farthest);
    }),
    wrong!("2.1", preserves_shape_and_orientation,
        "Each point is scaled by its own distance: all points end on the sphere, and the shape is lost.",
    normalise: |points| {
        moved(points, mean(points));
        for p in points {
            let far = size(p);
            scaled(std::slice::from_mut(p), if far > 0.0 { 1.0 / far } else { 1.0 });
        }
    }),
    wrong!("2.1", preserves_shape_and_orientation, "The axes are swapped: the tree lies on its side.",
    normalise: |points| {
        (REFERENCE.normalise)(points);
        points.iter_mut().for_each(|p| p.swap(1, 2));
    }),
    wrong!("2.1", scales_the_farthest_point_to_1, "The distance is measured in x and y only; the height is part of it.",
        normalise: |points| scaled_by(points, |p| p.iter().map(|&[x, y, _]| f64::from(x).hypot(f64::from(y))).fold(0.0, f64::max))),
    wrong!("2.1", scales_the_farthest_point_to_1,
        "The root mean square of the distances is scaled to 1; the greatest distance should be 1.",
    normalise: |points| scaled_by(points, |p| {
        (p.iter().map(|p| size(p).powi(2)).sum::<f64>() / p.len().max(1) as f64).sqrt()
    })),
    wrong!("2.1", scales_the_farthest_point_to_1,
        "The sum of |x|, |y| and |z| is used as the distance, which is the root of x² + y² + z².",
        normalise: |points| scaled_by(points, |p| p.iter().map(|p| p.iter().map(|&c| f64::from(c.abs())).sum()).fold(0.0, f64::max))),
    wrong!("2.1", scales_the_farthest_point_to_1, "A cloud inside the unit sphere keeps its size; it should be scaled up.",
        normalise: |points| scaled_by(points, |p| farthest(p).max(1.0))),
    wrong!("2.1", preserves_shape_and_orientation,
        "A point is scaled before the greatest distance of all points is known; that needs a pass of its own.",
    normalise: |points| {
        moved(points, mean(points));
        let mut far = 0f64;
        for p in points {
            far = far.max(size(p));
            scaled(std::slice::from_mut(p), if far > 0.0 { 1.0 / far } else { 1.0 });
        }
    }),
    wrong!("2.1", scales_the_farthest_point_to_1,
        "The distance between the two farthest corners, or points, is scaled to 1; measure from the centroid.",
    normalise: |points| scaled_by(points, |points| {
        let edge = |a: usize, pick: fn(f32, f32) -> f32| points.iter().map(|p| p[a]).reduce(pick).unwrap_or(0.0);
        size(&[0, 1, 2].map(|a| edge(a, f32::max) - edge(a, f32::min)))
    })),
    wrong!("2.1", moves_the_centroid_to_the_origin,
        "The cloud is scaled, and then moved by the centroid that it had before. Move first, then scale.",
    normalise: |points| {
        let centre = mean(points);
        let far = points.iter().map(|p| (0..3).map(|a| (f64::from(p[a]) - centre[a]).powi(2)).sum::<f64>());
        let far = far.fold(0.0, f64::max).sqrt();
        scaled(points, if far > 0.0 { 1.0 / far } else { 1.0 });
        moved(points, centre);
    }),
    wrong!("2.1", moves_the_centroid_to_the_origin, "The cloud is moved so that its first point is at the origin, not its centroid.",
    normalise: |points| {
        let Some(first) = points.first().copied() else { return };
        centred_at(points, first.map(f64::from));
    }),
    wrong!("2.1", moves_the_centroid_to_the_origin, "The lowest point is put at height 0; the centroid should be there.",
    normalise: |points| {
        let [x, y, _] = mean(points);
        let low = points.iter().map(|p| p[2]).fold(f32::MAX, f32::min);
        centred_at(points, [x, y, f64::from(low)]);
    }),
    wrong!("2.1", moves_the_centroid_to_the_origin, "The median of each axis is used as the centroid, which is the mean.",
    normalise: |points| {
        let middle = [0, 1, 2].map(|a| {
            let mut axis: Vec<f64> = points.iter().map(|p| f64::from(p[a])).collect();
            axis.sort_by(f64::total_cmp);
            axis.get(axis.len() / 2).copied().unwrap_or(0.0)
        });
        centred_at(points, middle);
    }),
    wrong!("2.1", moves_the_centroid_to_the_origin, "The sum is divided by n − 1, or by another count; the mean divides by the number of points.",
    normalise: |points| {
        let n = points.len() as f64;
        let centre = mean(points).map(|c| if n > 1.0 { c * n / (n - 1.0) } else { c });
        centred_at(points, centre);
    }),
    wrong!("2.1", moves_the_centroid_to_the_origin, "The sum of the points is subtracted; divide it by their number.",
    normalise: |points| {
        let n = points.len() as f64;
        centred_at(points, mean(points).map(|c| c * n));
    }),
    wrong!("2.1", scales_the_farthest_point_to_1, "The height of the cloud is scaled to 1; the greatest distance from the centroid should be 1.",
    normalise: |points| scaled_by(points, |points| {
        let edge = |pick: fn(f32, f32) -> f32| points.iter().map(|p| p[2]).reduce(pick).unwrap_or(0.0);
        f64::from(edge(f32::max) - edge(f32::min))
    })),
    wrong!("2.1", preserves_shape_and_orientation, "The points are sorted; they must keep their order.",
    normalise: |points| {
        (REFERENCE.normalise)(points);
        points.sort_by(|a, b| a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal));
    }),
    wrong!("2.1", subtracts_in_f64, "The mean is summed in f32, and each sum is rounded. Sum in f64.",
    normalise: |points| {
        let mut sum = [0f32; 3];
        points.iter().for_each(|p| (0..3).for_each(|a| sum[a] += p[a]));
        in_f32(points, sum.map(|s| s / points.len().max(1) as f32));
    }),
    wrong!("2.1", subtracts_in_f64,
        "The centroid is rounded to f32 before it is subtracted; subtract in f64, and round the difference.",
        normalise: |points| in_f32(points, mean(points).map(|c| c as f32))),
    wrong!("2.1", scales_tiny_clouds, "A tiny cloud is taken for identical points; only a distance of exactly 0 cannot be scaled.",
    normalise: |points| {
        moved(points, mean(points));
        let far = farthest(points);
        scaled(points, if far > 1e-6 { 1.0 / far } else { 1.0 });
    }),
    wrong!("2.1", scales_tiny_clouds, "The distance has a small number added, or a lower bound, so that it is not 0: a tiny cloud stays too small. Divide by the distance itself unless it is 0.",
        normalise: |points| scaled_by(points, |p| farthest(p) + 1e-8)),
    wrong!("2.1", scales_the_farthest_point_to_1, "The distance has a small number added, or a lower bound, so that it is not 0: a tiny cloud stays too small. Divide by the distance itself unless it is 0.",
        normalise: |points| scaled_by(points, |p| farthest(p) + 1e-3)),
    wrong!("2.1", accepts_identical_points,
        "The mean of identical points is not exactly the point: each division by n, or product with 1/n, is rounded, and the rest of 1e-14 is scaled to 1. Sum first, then divide once.",
    normalise: |points| {
        let (share, mut centre) = (1.0 / points.len().max(1) as f64, [0f64; 3]);
        points.iter().for_each(|p| (0..3).for_each(|a| centre[a] += f64::from(p[a]) * share));
        centred_at(points, centre);
    }),
    wrong!("2.1", accepts_identical_points, "A single point is left where it is; it is its own centroid, and moves to the origin.",
        normalise: |points| if points.len() > 1 { (REFERENCE.normalise)(points) }),
    wrong!("2.1", accepts_an_empty_cloud, "An empty cloud has no first point.",
    normalise: |points| {
        let first = points[0];
        if points.iter().any(|p| *p != first) { (REFERENCE.normalise)(points) } else { points.fill([0.0; 3]) }
    }),
    wrong!("2.1", accepts_an_empty_cloud, "An empty cloud has no first point and no greatest distance, so that `unwrap` panics. Return early.",
    normalise: |points| {
        #[allow(clippy::unwrap_used, reason = "the message of a student's panic")]
        points.iter().map(size).max_by(f64::total_cmp).unwrap();
        (REFERENCE.normalise)(points);
    }),
    wrong!("2.1", accepts_identical_points, "If all points are identical, this divides by 0.",
    normalise: |points| {
        moved(points, mean(points));
        let far = farthest(points);
        points.iter_mut().flatten().for_each(|c| *c = (f64::from(*c) / far) as f32);
    }),
    wrong!("2.1", accepts_identical_points, "Identical points are not moved; they should move to the origin.",
        normalise: |points| if points.iter().any(|p| *p != points[0]) { (REFERENCE.normalise)(points) }),
    wrong!("2.1", scales_the_farthest_point_to_1, "The cloud is divided by twice the greatest distance; that distance itself should become 1.",
        normalise: |points| scaled_by(points, |p| 2.0 * farthest(p))),
];
