//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use candle_core::{D, DType, Result, Tensor};
use canopy_data::Philox;
use grader::{Mistake, wrong};

use crate::{Lesson02, REFERENCE, answer_helpers::*};

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
    normalise: |points| {
        moved(points, mean(points));
        for a in 0..3 {
            let far = points.iter().map(|p| p[a].abs()).fold(0.0, f32::max);
            points.iter_mut().for_each(|p| p[a] /= if far > 0.0 { far } else { 1.0 });
        }
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
    wrong!("2.1", scales_tiny_clouds, "Something is added to the distance so that it is not 0; a tiny cloud stays too small.",
        normalise: |points| scaled_by(points, |p| farthest(p) + 1e-8)),
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
    wrong!("2.1", accepts_identical_points, "If all points are identical, this divides by 0.",
    normalise: |points| {
        moved(points, mean(points));
        let far = farthest(points);
        points.iter_mut().flatten().for_each(|c| *c = (f64::from(*c) / far) as f32);
    }),
    wrong!("2.1", accepts_identical_points, "Identical points are not moved; they should move to the origin.",
        normalise: |points| if points.iter().any(|p| *p != points[0]) { (REFERENCE.normalise)(points) }),
    wrong!("2.2", applies_the_same_layer_to_every_point,
        "The weight is not transposed: w is [out, in], and rows of points are multiplied by [in, out].",
    shared_layer: |x, w, b| {
        let (clouds, points, _) = x.dims3()?;
        relu(&x.flatten_to(1)?.matmul(w)?.reshape((clouds, points, ()))?.broadcast_add(b)?)
    }),
    wrong!("2.2", applies_the_same_layer_to_every_point,
        "x has three axes and w has two: make one matrix of all points first.",
        shared_layer: |x, w, b| relu(&x.matmul(&w.t()?)?.broadcast_add(b)?)),
    wrong!("2.2", applies_the_same_layer_to_every_point, "`+` requires equal shapes; `broadcast_add` adds the bias to every row.",
        shared_layer: |x, w, b| relu(&(x.flatten_to(1)?.matmul(&w.t()?)? + b)?)),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The bias is left out.",
        shared_layer: |x, w, _| relu(&rows_times(x, w)?)),
    wrong!("2.2", adds_the_bias_before_relu, "The ReLU is missing: values below 0 remain.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)),
    wrong!("2.2", adds_the_bias_before_relu, "The bias is added after the ReLU; the ReLU comes last.",
        shared_layer: |x, w, b| relu(&rows_times(x, w)?)?.broadcast_add(b)),
    wrong!("2.2", adds_the_bias_before_relu, "This is the absolute value; ReLU turns values below 0 into 0.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.abs()),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The ReLU is applied to the input; apply it to the output.",
        shared_layer: |x, w, b| rows_times(&relu(x)?, w)?.broadcast_add(b)),
    wrong!("2.2", preserves_clouds_and_points,
        "The result is [clouds × points, out]; reshape it to [clouds, points, out].",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(x, w, b)?.flatten_to(1)),
    wrong!("2.2", applies_the_same_layer_to_every_point,
        "The matrix is reshaped instead of transposed: the numbers of several points are mixed.",
    shared_layer: |x, w, b| {
        let (clouds, points, _) = x.dims3()?;
        let columns = w.matmul(&x.flatten_to(1)?.t()?)?;
        relu(&columns.reshape((clouds, points, ()))?.broadcast_add(b)?)
    }),
    wrong!("2.2", preserves_clouds_and_points, "Only the first cloud goes through the layer.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(&x.narrow(0, 0, 1)?, w, b)),
    wrong!("2.2", has_gradients_for_all_inputs, "The points were detached, or converted to numbers: no gradient reaches x.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(&x.detach(), w, b)),
    wrong!("2.2", has_gradients_for_all_inputs, "The bias was detached, or converted to numbers: no gradient reaches b.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(x, w, &b.detach())),
    wrong!("2.2", has_gradients_for_all_inputs,
        "The weight was detached, or converted to numbers: no gradient reaches it.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(x, &w.detach(), b)),
    wrong!("2.2", applies_the_same_layer_to_every_point,
        "The weight is reshaped to [in, out], which mixes the numbers of several neurons; `w.t()` transposes it.",
    shared_layer: |x, w, b| {
        let (out, input) = w.dims2()?;
        (REFERENCE.shared_layer)(x, &w.reshape((input, out))?.t()?.contiguous()?, b)
    }),
    wrong!("2.2", applies_the_same_layer_to_every_point, "A square weight is not transposed; w is [out, in], even if the two are equal.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(x, &if w.dim(0)? == w.dim(1)? { w.t()?.contiguous()? } else { w.clone() }, b)),
    wrong!("2.2", applies_the_same_layer_to_every_point,
        "The rows are split into [points, clouds, out]: they go to other clouds. They are in the order [clouds, points].",
    shared_layer: |x, w, b| {
        let (clouds, points, _) = x.dims3()?;
        (REFERENCE.shared_layer)(x, w, b)?.reshape((points, clouds, ()))?.transpose(0, 1)?.contiguous()
    }),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The bias is subtracted; add it.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(x, w, &b.neg()?)),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The ReLU is applied twice, before the bias and after it; it comes last only.",
        shared_layer: |x, w, b| relu(&relu(&rows_times(x, w)?)?.broadcast_add(b)?)),
    wrong!("2.2", applies_the_same_layer_to_every_point, "This is a leaky ReLU: values below 0 become smaller, but not 0.",
    shared_layer: |x, w, b| {
        let y = rows_times(x, w)?.broadcast_add(b)?;
        y.maximum(&(&y * 0.01)?)
    }),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The activation is GELU, not ReLU.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.gelu()),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The activation is GELU, not ReLU.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.gelu_erf()),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The activation is SiLU, not ReLU.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.silu()),
    wrong!("2.2", applies_the_same_layer_to_every_point, "This keeps values below 0 and cuts those above; ReLU does the opposite.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.minimum(0f32)),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The values are normalised over the batch; batch norm is already part of w and b.",
    shared_layer: |x, w, b| {
        let y = rows_times(x, w)?.flatten_to(1)?;
        let y = y.broadcast_sub(&y.mean_keepdim(0)?)?;
        let y = y.broadcast_div(&(y.sqr()?.mean_keepdim(0)? + 1e-5)?.sqrt()?)?;
        relu(&y.broadcast_add(b)?)?.reshape((x.dim(0)?, x.dim(1)?, ()))
    }),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The activation is tanh, not ReLU.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.tanh()),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The activation is the sigmoid, not ReLU.",
        shared_layer: |x, w, b| (rows_times(x, w)?.broadcast_add(b)?.neg()?.exp()? + 1.0)?.recip()),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The bias is added along the axis of the points; it has a number for each channel, the last axis.",
        shared_layer: |x, w, b| relu(&rows_times(x, w)?.broadcast_add(&b.reshape((1, (), 1))?)?)),
    wrong!("2.2", keeps_values_above_0, "Large values are cut off; ReLU has no upper limit.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.clamp(0f32, 6f32)),
    wrong!("2.2", keeps_values_above_0, "Large values are cut off; ReLU has no upper limit.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.clamp(0f32, 1f32)),
    wrong!("2.2", preserves_clouds_and_points, "The axis of the clouds is dropped if there is one cloud; it stays.",
    shared_layer: |x, w, b| {
        let y = (REFERENCE.shared_layer)(x, w, b)?;
        if y.dim(0)? == 1 { y.squeeze(0) } else { Ok(y) }
    }),
    wrong!("2.2", computes_in_the_dtype_of_its_inputs, "The result is f32, whatever the inputs are; compute in `x.dtype()`.",
    shared_layer: |x, w, b| {
        let [x, w, b] = [x, w, b].map(|t| t.to_dtype(DType::F32));
        (REFERENCE.shared_layer)(&x?, &w?, &b?)
    }),
    wrong!("2.2", computes_all_points_in_one_product,
        "A loop computes cloud after cloud, or point after point. Reshape x to one matrix of all points, and multiply once.",
    shared_layer: |x, w, b| {
        let one = |cloud: usize| relu(&x.get(cloud)?.matmul(&w.t()?)?.broadcast_add(b)?);
        Tensor::stack(&(0..x.dim(0)?).map(one).collect::<Result<Vec<_>>>()?, 0)
    }),
    wrong!("2.3", takes_the_maximum_of_each_channel, "This is the mean over the points, not the maximum.",
        max_points: |x| x.mean(1)),
    wrong!("2.3", takes_the_maximum_of_each_channel, "The maximum is over the channels; it should be over the points, axis 1.",
        max_points: |x| x.max(2)),
    wrong!("2.3", takes_the_maximum_of_each_channel, "The maximum is over the clouds; it should be over the points, axis 1.",
        max_points: |x| x.max(0)),
    wrong!("2.3", takes_the_maximum_of_each_channel, "The axis of the points remains with length 1; remove it.",
        max_points: |x| (REFERENCE.max_points)(x)?.unsqueeze(1)),
    wrong!("2.3", takes_the_maximum_of_each_channel,
        "`argmax` removes its axis, but `gather` requires it: `argmax_keepdim` keeps it.",
        max_points: |x| x.gather(&x.detach().argmax(1)?, 1)),
    wrong!("2.3", takes_the_maximum_of_each_channel,
        "The search starts at 0, so that a channel with only negative values becomes 0.",
        max_points: |x| relu(&(REFERENCE.max_points)(x)?)),
    wrong!("2.3", takes_the_maximum_of_each_channel, "The value with the greatest absolute value is taken; the sign matters.",
        max_points: |x| pick(x, |list| equals(list, *list.iter().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(&0.0))[0])),
    wrong!("2.3", does_not_depend_on_point_order, "The last point is ignored.",
        max_points: |x| (REFERENCE.max_points)(&x.narrow(1, 0, x.dim(1)?.max(2) - 1)?.contiguous()?)),
    wrong!("2.3", takes_the_maximum_of_each_channel,
        "Values that are nearly equal are taken as equal: they were rounded, or something was added to them. Compare the values themselves.",
        max_points: |x| x.gather(&x.detach().round()?.argmax_keepdim(1)?, 1)?.squeeze(1)),
    wrong!("2.3", takes_the_maximum_of_each_channel, "The maximum of all clouds is given to each cloud; each has its own.",
    max_points: |x| {
        let all = x.flatten_to(1)?.max_keepdim(0)?;
        all.broadcast_as((x.dim(0)?, x.dim(2)?))?.contiguous()
    }),
    wrong!("2.3", accepts_one_cloud_of_one_point,
        "Every axis of length 1 is removed; clouds and channels stay, even if there is only one.",
    max_points: |x| {
        let y = (REFERENCE.max_points)(x)?;
        let y = if y.dim(0)? == 1 { y.squeeze(0)? } else { y };
        if y.dim(D::Minus1)? == 1 { y.squeeze(D::Minus1) } else { Ok(y) }
    }),
    wrong!("2.3", sends_the_gradient_to_the_maximum,
        "The values were detached, or converted to numbers: no gradient reaches the points.",
        max_points: |x| x.detach().max(1)),
    wrong!("2.3", sends_the_gradient_to_the_maximum, "Every point gets a share of the gradient; only the maximum should.",
    max_points: |x| {
        let mean = x.mean(1)?;
        (&mean - mean.detach())? + x.detach().max(1)?
    }),
    wrong!("2.3", sends_the_gradient_to_the_first_of_equal_points,
        "All points with the maximum get the whole gradient, as with candle's `max`; take the first one by `argmax` and `gather`.",
        max_points: |x| x.max(1)),
    wrong!("2.3", sends_the_gradient_to_the_first_of_equal_points, "The last of equal points gets the gradient; the first should.",
        max_points: |x| pick(x, |list| equals(list, top(list)).pop().unwrap_or(0))),
    wrong!("2.3", sends_the_gradient_to_the_first_of_equal_points, "Equal points share the gradient; the first of them should get all of it.",
    max_points: |x| {
        let mask = x.detach().broadcast_eq(&x.detach().max_keepdim(1)?)?.to_dtype(x.dtype())?;
        (x * mask.broadcast_div(&mask.sum_keepdim(1)?)?)?.sum(1)
    }),
    wrong!("2.3", takes_the_maximum_of_each_channel, "This is the minimum, not the maximum.",
        max_points: |x| x.min(1)),
    wrong!("2.3", takes_the_maximum_of_each_channel, "This is the sum over the points, not the maximum.",
        max_points: |x| x.sum(1)),
    wrong!("2.3", takes_the_maximum_of_each_channel, "This is the first point of each cloud, not the maximum.",
        max_points: |x| x.get_on_dim(1, 0)),
    wrong!("2.3", takes_the_maximum_of_each_channel,
        "One point is taken for all channels of a cloud; each channel has a maximum of its own.",
        max_points: |x| one_point(x, &x.detach().sum(2)?)),
    wrong!("2.3", takes_the_maximum_of_each_channel,
        "One point is taken for all channels of a cloud; each channel has a maximum of its own.",
        max_points: |x| one_point(x, &x.detach().get_on_dim(2, 0)?)),
    wrong!("2.3", takes_the_maximum_of_each_channel, "The points that win in the first cloud are taken in every cloud; each has its own.",
    max_points: |x| {
        let (clouds, _, channels) = x.dims3()?;
        let first = x.detach().narrow(0, 0, 1)?.argmax_keepdim(1)?;
        x.gather(&first.broadcast_as((clouds, 1, channels))?.contiguous()?, 1)?.squeeze(1)
    }),
    wrong!("2.3", takes_the_maximum_of_each_channel,
        "The maximum is a mean weighted by exponentials (softmax); every point has a share in it.",
    max_points: |x| {
        let weights = x.broadcast_sub(&x.max_keepdim(1)?)?.exp()?;
        (x * weights.broadcast_div(&weights.sum_keepdim(1)?)?)?.sum(1)
    }),
    wrong!("2.3", sends_the_gradient_to_the_first_of_equal_points, "Equal points share the gradient; the first of them should get all of it.",
    max_points: |x| {
        let mask = x.detach().broadcast_eq(&x.detach().max_keepdim(1)?)?.to_dtype(x.dtype())?;
        (x * &mask)?.sum(1)? / mask.sum(1)?
    }),
    wrong!("2.3", compares_values_exactly,
        "Values that are nearly equal are taken as equal: they were rounded, or something was added to them. Compare the values themselves.",
    max_points: |x| {
        let ramp = Tensor::arange(0f32, x.dim(1)? as f32, x.device())?.to_dtype(x.dtype())?;
        let ramp = (ramp * -1e-6)?.reshape((1, (), 1))?;
        x.gather(&x.detach().broadcast_add(&ramp)?.argmax_keepdim(1)?, 1)?.squeeze(1)
    }),
    wrong!("2.3", computes_in_the_dtype_of_x, "The result is f32, whatever x is; it should have the dtype of x.",
        max_points: |x| (REFERENCE.max_points)(&x.to_dtype(DType::F32)?)),
    wrong!("2.3", computes_in_the_dtype_of_x, "The values are compared in f32, which takes nearly equal numbers of f64 as equal.",
        max_points: |x| x.gather(&x.to_dtype(DType::F32)?.argmax_keepdim(1)?, 1)?.squeeze(1)),
    wrong!("2.3", computes_in_the_dtype_of_x, "`to_vec` of f32 does not read a tensor of f64; find the points with candle's operations.",
    max_points: |x| {
        x.detach().to_vec3::<f32>()?;
        (REFERENCE.max_points)(x)
    }),
    wrong!("2.4", is_the_identity_for_zero_output, "The identity is not added: an untrained T-Net would send every point to the origin.",
        to_matrix: |x, k| x.reshape((x.dim(0)?, k, k))),
    wrong!("2.4", is_the_identity_for_zero_output,
        "`+` requires equal shapes; `broadcast_add` adds the one identity to each of the matrices.",
        to_matrix: |x, k| x.reshape((x.dim(0)?, k, k))? + Tensor::eye(k, x.dtype(), x.device())?),
    wrong!("2.4", is_the_identity_for_zero_output, "1 is added to every entry; the identity has it along the diagonal only.",
        to_matrix: |x, k| x.reshape((x.dim(0)?, k, k))? + 1.0),
    wrong!("2.4", fills_matrices_row_by_row, "The matrices are transposed: the first k numbers are the first row.",
        to_matrix: |x, k| (REFERENCE.to_matrix)(x, k)?.t()),
    wrong!("2.4", is_the_identity_for_zero_output, "The identity is subtracted; add it.",
    to_matrix: |x, k| {
        let x = x.reshape((x.dim(0)?, k, k))?;
        x.broadcast_sub(&eye(&x)?)
    }),
    wrong!("2.4", fills_matrices_row_by_row, "The diagonal is set to 1; 1 should be added to it.",
    to_matrix: |x, k| {
        let x = x.reshape((x.dim(0)?, k, k))?;
        let one = eye(&x)?;
        x.broadcast_mul(&one.affine(-1.0, 1.0)?)?.broadcast_add(&one)
    }),
    wrong!("2.4", fills_matrices_row_by_row, "Only the diagonal of the output is kept.",
    to_matrix: |x, k| {
        let x = x.reshape((x.dim(0)?, k, k))?;
        x.broadcast_mul(&eye(&x)?)?.broadcast_add(&eye(&x)?)
    }),
    wrong!("2.4", gives_each_cloud_its_own_matrix, "All clouds get the matrix of the first one.",
    to_matrix: |x, k| {
        let all = (REFERENCE.to_matrix)(x, k)?;
        all.narrow(0, 0, 1)?.broadcast_as(all.shape())?.contiguous()
    }),
    wrong!("2.4", gives_each_cloud_its_own_matrix, "The identity is added to the first cloud's matrix only.",
    to_matrix: |x, k| {
        let x = x.reshape((x.dim(0)?, k, k))?;
        let first = Tensor::arange(0u32, x.dim(0)? as u32, x.device())?.eq(0u32)?.to_dtype(x.dtype())?;
        &x + first.reshape(((), 1, 1))?.broadcast_mul(&eye(&x)?)?
    }),
    wrong!("2.4", passes_the_gradient_to_its_input,
        "The output was detached, or converted to numbers: no gradient reaches the network.",
        to_matrix: |x, k| (REFERENCE.to_matrix)(&x.detach(), k)),
    wrong!("2.4", is_the_identity_for_zero_output, "1 is added to each k-th number, a column; the diagonal is each (k + 1)-th.",
    to_matrix: |x, k| {
        let column = Tensor::arange(0u32, k as u32, x.device())?.eq(0u32)?.to_dtype(x.dtype())?;
        x.reshape((x.dim(0)?, k, k))?.broadcast_add(&column)
    }),
    wrong!("2.4", is_the_identity_for_zero_output, "1 is added along the other diagonal, from the upper right to the lower left.",
    to_matrix: |x, k| {
        let at = Tensor::arange(0u32, k as u32, x.device())?;
        let from_end = Tensor::from_vec((0..k as u32).rev().collect::<Vec<_>>(), (k, 1), x.device())?;
        let one = at.reshape((1, k))?.broadcast_eq(&from_end)?.to_dtype(x.dtype())?;
        x.reshape((x.dim(0)?, k, k))?.broadcast_add(&one)
    }),
    wrong!("2.4", is_the_identity_for_zero_output, "The axis of the clouds is dropped if there is one cloud; it stays.",
    to_matrix: |x, k| {
        let y = (REFERENCE.to_matrix)(x, k)?;
        if y.dim(0)? == 1 { y.squeeze(0) } else { Ok(y) }
    }),
    wrong!("2.4", is_the_identity_for_zero_output, "The identity is divided by the number of clouds; each cloud gets the whole of it.",
    to_matrix: |x, k| {
        let x = x.reshape((x.dim(0)?, k, k))?;
        x.broadcast_add(&(eye(&x)? / x.dim(0)? as f64)?)
    }),
    wrong!("2.4", fills_matrices_row_by_row,
        "The identity is added only if all numbers are 0; it is added always, and the T-Net learns the difference.",
    to_matrix: |x, k| {
        let zero = x.detach().abs()?.sum_all()?.to_dtype(DType::F64)?.to_scalar::<f64>()? == 0.0;
        if zero { (REFERENCE.to_matrix)(x, k) } else { x.reshape((x.dim(0)?, k, k)) }
    }),
    wrong!("2.4", fills_matrices_row_by_row, "The numbers pass a tanh; they are used as they are.",
        to_matrix: |x, k| (REFERENCE.to_matrix)(&x.tanh()?, k)),
    wrong!("2.4", fills_matrices_row_by_row, "The rows are scaled to length 1; the numbers are used as they are.",
    to_matrix: |x, k| {
        let y = (REFERENCE.to_matrix)(x, k)?;
        y.broadcast_div(&y.sqr()?.sum_keepdim(2)?.sqrt()?)
    }),
    wrong!("2.4", fills_matrices_row_by_row, "The numbers are subtracted from the identity; add them.",
        to_matrix: |x, k| (REFERENCE.to_matrix)(&x.neg()?, k)),
    wrong!("2.4", gives_each_cloud_its_own_matrix, "The clouds are mixed: reshape [clouds, k·k] to [clouds, k, k] as it is.",
    to_matrix: |x, k| {
        let clouds = x.dim(0)?;
        let x = x.reshape((k, k, clouds))?.permute((2, 0, 1))?;
        x.broadcast_add(&eye(&x)?)
    }),
    wrong!("2.4", adds_in_the_dtype_of_x, "The identity is f32, whatever x is; create it with `x.dtype()`.",
        to_matrix: |x, k| x.reshape((x.dim(0)?, k, k))?.broadcast_add(&Tensor::eye(k, DType::F32, x.device())?)),
    wrong!("2.4", adds_in_the_dtype_of_x, "The result is f32, whatever x is; it should have the dtype of x.",
        to_matrix: |x, k| (REFERENCE.to_matrix)(&x.to_dtype(DType::F32)?, k)),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "This is A·A; the second A must be transposed.",
        orthogonality: |a| distance(a, |a| a.matmul(a), Tensor::sqr)),
    wrong!("2.5", is_zero_for_rotations_and_reflections,
        "`-` requires equal shapes; `broadcast_sub` subtracts the matrices from the one identity.",
        orthogonality: |a| (Tensor::eye(a.dim(1)?, a.dtype(), a.device())? - product(a)?)?.sqr()?.sum_all()),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "This is the distance of A itself from I: every rotation would be penalised.",
        orthogonality: |a| distance(a, |a| Ok(a.clone()), Tensor::sqr)),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "I is missing: A·Aᵀ would be pulled to 0.",
        orthogonality: |a| product(a)?.sqr()?.sum_all()? / a.dim(0)? as f64),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "This is the norm; the term is its square.",
        orthogonality: |a| (eye(a)?.broadcast_sub(&product(a)?)?.sqr()?.sum((1, 2))? + 1e-20)?.sqrt()?.mean_all()),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The absolute values of the entries are summed; sum their squares.",
        orthogonality: |a| distance(a, product, Tensor::abs)),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "This is the mean over the entries; sum them.",
        orthogonality: |a| eye(a)?.broadcast_sub(&product(a)?)?.sqr()?.mean_all()),
    wrong!("2.5", penalises_rows_of_length_other_than_1,
        "The diagonal is ignored; it shows the length of the rows.",
        orthogonality: |a| distance(a, product, |off| off.broadcast_mul(&eye(off)?.affine(-1.0, 1.0)?)?.sqr())),
    wrong!("2.5", penalises_rows_that_are_not_orthogonal,
        "Only the diagonal of A·Aᵀ is used; the other entries show whether rows are orthogonal to each other.",
        orthogonality: |a| distance(a, product, |off| off.broadcast_mul(&eye(off)?)?.sqr())),
    wrong!("2.5", is_the_mean_over_clouds, "The clouds are summed; take their mean.",
        orthogonality: |a| distance(a, product, Tensor::sqr)? * a.dim(0)? as f64),
    wrong!("2.5", is_the_mean_over_clouds, "The matrices of all clouds are stacked into one: rows of other clouds are counted too.",
    orthogonality: |a| {
        let one = a.flatten_to(1)?.unsqueeze(0)?;
        distance(&one, product, Tensor::sqr)? / a.dim(0)? as f64
    }),
    wrong!("2.5", has_the_right_gradient, "The matrices were detached, or converted to numbers: no gradient reaches them.",
        orthogonality: |a| (REFERENCE.orthogonality)(&a.detach())),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "The result has an axis of length 1; it should be one number, of shape [].",
        orthogonality: |a| (REFERENCE.orthogonality)(a)?.reshape(1)),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "This is a number for each cloud; take their mean.",
        orthogonality: |a| eye(a)?.broadcast_sub(&product(a)?)?.sqr()?.sum((1, 2))),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "The identity is added to A·Aᵀ; subtract one from the other.",
        orthogonality: |a| distance(a, |a| product(a)?.neg(), Tensor::sqr)),
    wrong!("2.5", is_zero_for_rotations_and_reflections,
        "The transpose swaps clouds and rows; swap the last two axes, 1 and 2, as `t()` does.",
        orthogonality: |a| distance(a, |a| a.matmul(&a.transpose(0, 1)?), Tensor::sqr)),
    wrong!("2.5", is_zero_for_rotations_and_reflections,
        "The transpose swaps clouds and rows; swap the last two axes, 1 and 2, as `t()` does.",
    orthogonality: |a| distance(a, |a| {
        let swapped = a.transpose(0, 1)?.contiguous()?.reshape(a.shape())?;
        a.matmul(&swapped.t()?)
    }, Tensor::sqr)),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "All ones are subtracted, not the identity.",
        orthogonality: |a| (product(a)? - 1.0)?.sqr()?.sum_all()? / a.dim(0)? as f64),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "This multiplies entry by entry; A·Aᵀ is a product of matrices, `matmul`.",
        orthogonality: |a| distance(a, |a| a * a.t()?, Tensor::sqr)),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The sum is divided by k; take the mean over the clouds only.",
        orthogonality: |a| (REFERENCE.orthogonality)(a)? * (a.dim(0)? as f64 / a.dim(1)? as f64)),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The sum is divided by k; sum the entries, and take the mean over the clouds.",
        orthogonality: |a| (REFERENCE.orthogonality)(a)? / a.dim(1)? as f64),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The entries are summed, and the sum is squared; square each entry, then sum.",
        orthogonality: |a| eye(a)?.broadcast_sub(&product(a)?)?.sum((1, 2))?.sqr()?.mean_all()),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The entries are summed without a square: those above and below 0 cancel.",
        orthogonality: |a| eye(a)?.broadcast_sub(&product(a)?)?.sum((1, 2))?.mean_all()),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The rows are scaled to length 1 first; a multiple of a rotation is not orthogonal.",
    orthogonality: |a| {
        let rows = a.broadcast_div(&(a.sqr()?.sum_keepdim(2)? + 1e-30)?.sqrt()?)?;
        (REFERENCE.orthogonality)(&rows)
    }),
    wrong!("2.5", penalises_rows_of_length_other_than_1, "The result is multiplied by 0.001; training does that.",
        orthogonality: |a| (REFERENCE.orthogonality)(a)? * 0.001),
    wrong!("2.5", penalises_rows_that_are_not_orthogonal, "Each pair of rows is counted once; the square of ‖·‖ sums all entries.",
    orthogonality: |a| {
        let k = a.dim(1)?;
        let upper = Tensor::triu2(k, a.dtype(), a.device())?.unsqueeze(0)?;
        eye(a)?.broadcast_sub(&product(a)?)?.sqr()?.broadcast_mul(&upper)?.sum_all()? / a.dim(0)? as f64
    }),
    wrong!("2.5", is_zero_for_rotations_and_reflections, "The identity is left out of some matrices: subtract it from each cloud's product.",
    orthogonality: |a| {
        let first = Tensor::arange(0u32, a.dim(0)? as u32, a.device())?.eq(0u32)?.to_dtype(a.dtype())?;
        let one = first.reshape(((), 1, 1))?.broadcast_mul(&eye(a)?)?;
        (one - product(a)?)?.sqr()?.sum_all()? / a.dim(0)? as f64
    }),
    wrong!("2.5", is_the_mean_over_clouds, "The sum is divided by the number of clouds twice.",
        orthogonality: |a| (REFERENCE.orthogonality)(a)? / a.dim(0)? as f64),
    wrong!("2.5", is_the_mean_over_clouds, "The norms are averaged, and their mean is squared; average the squares.",
    orthogonality: |a| {
        let sums = eye(a)?.broadcast_sub(&product(a)?)?.sqr()?.sum((1, 2))?;
        (sums + 1e-30)?.sqrt()?.mean_all()?.sqr()
    }),
    wrong!("2.5", is_the_mean_over_clouds, "Only the first cloud is measured; take the mean over all.",
        orthogonality: |a| (REFERENCE.orthogonality)(&a.narrow(0, 0, 1)?)),
    wrong!("2.5", is_the_mean_over_clouds,
        "The matrices, or their products, are averaged before they are squared, so that errors cancel; average the sums.",
        orthogonality: |a| (product(a)?.mean(0)? - Tensor::eye(a.dim(1)?, a.dtype(), a.device())?)?.sqr()?.sum_all()),
    wrong!("2.5", computes_in_the_dtype_of_a, "The identity is f32, whatever a is; create it with `a.dtype()`.",
        orthogonality: |a| Tensor::eye(a.dim(1)?, DType::F32, a.device())?.unsqueeze(0)?.broadcast_sub(&product(a)?)),
    wrong!("2.5", computes_in_the_dtype_of_a, "The identity is f32, whatever a is; create it with `a.dtype()`.",
        orthogonality: |a| product(a)?.broadcast_sub(&Tensor::eye(a.dim(1)?, DType::F32, a.device())?)),
    wrong!("2.5", computes_in_the_dtype_of_a, "The result is f32, whatever a is; it should have the dtype of a.",
        orthogonality: |a| (REFERENCE.orthogonality)(a)?.to_dtype(DType::F32)),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "This rotates clockwise: the sine has the wrong sign.",
        turn: |points, angle| (REFERENCE.turn)(points, -angle)),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "The angle is treated as degrees; it is in radians.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.to_radians())),
    wrong!("2.6", preserves_distances_from_the_trunk, "x is overwritten before y is computed from it: both need the old x.",
    turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| {
        let x = cos * x - sin * y;
        [x, sin * x + cos * y, z]
    })),
    wrong!("2.6", preserves_distances_from_the_trunk, "Both sines have the same sign; one of them is negative.",
        turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| [cos * x + sin * y, sin * x + cos * y, z])),
    wrong!("2.6", preserves_heights, "This rotates about the x axis: the tree falls over.",
    turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| {
        let [y, z, x] = right_turn([y, z, x], sin, cos);
        [x, y, z]
    })),
    wrong!("2.6", preserves_heights, "This rotates about the y axis: the tree falls over.",
    turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| {
        let [z, x, y] = right_turn([z, x, y], sin, cos);
        [x, y, z]
    })),
    wrong!("2.6", rotates_by_any_angle, "The cloud rotates about its own centroid; it should rotate about the z axis.",
    turn: |points, angle| {
        let [x, y, _] = mean(points);
        moved(points, [x, y, 0.0]);
        (REFERENCE.turn)(points, angle);
        moved(points, [-x, -y, 0.0]);
    }),
    wrong!("2.6", rotates_by_any_angle, "Each point rotates by another angle; the cloud should rotate as a whole.",
    turn: |points, angle| for (i, p) in points.iter_mut().enumerate() {
        (REFERENCE.turn)(std::slice::from_mut(p), angle * (i + 1) as f64);
    }),
    wrong!("2.6", rotates_by_any_angle, "The sign of the angle is ignored: a negative angle rotates clockwise.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.abs())),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "Sine and cosine are swapped.",
        turn: |points, angle| (REFERENCE.turn)(points, FRAC_PI_2 - angle)),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "Sine and cosine are swapped.",
        turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| [sin * x - cos * y, cos * x + sin * y, z])),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "sin α = α and cos α = 1 are true for small angles only.",
        turn: |points, angle| points.iter_mut().for_each(|p| *p = right_turn(*p, angle as f32, 1.0))),
    wrong!("2.6", preserves_heights, "The height is lost; it stays as it is.",
        turn: |points, angle| turned(points, angle, |[x, y, _], sin, cos| [cos * x - sin * y, sin * x + cos * y, 0.0])),
    wrong!("2.6", preserves_heights, "The heights are measured from the lowest point; they stay as they are.",
    turn: |points, angle| {
        (REFERENCE.turn)(points, angle);
        let low = points.iter().map(|p| p[2]).fold(f32::MAX, f32::min);
        points.iter_mut().for_each(|p| p[2] -= low);
    }),
    wrong!("2.6", preserves_distances_from_the_trunk, "y is overwritten before x is computed from it: both need the old y.",
    turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| {
        let y = sin * x + cos * y;
        [cos * x - sin * y, y, z]
    })),
    wrong!("2.6", preserves_distances_from_the_trunk, "Both sines are negative; only the one in x′ is.",
        turn: |points, angle| turned(points, angle, |[x, y, z], sin, cos| [cos * x - sin * y, cos * y - sin * x, z])),
    wrong!("2.6", rotates_the_x_axis_to_the_y_axis, "The last point is left out.",
    turn: |points, angle| if let Some((_, others)) = points.split_last_mut() {
        (REFERENCE.turn)(others, angle);
    }),
    wrong!("2.6", rotates_by_any_angle, "The arctangent of y/x does not tell a point from the opposite one; `atan2` does.",
    turn: |points, angle| for p in points {
        let [x, y] = [p[0], p[1]].map(f64::from);
        let (far, at) = (x.hypot(y), (y / x).atan() + angle);
        *p = [(far * at.cos()) as f32, (far * at.sin()) as f32, p[2]];
    }),
    wrong!("2.6", rotates_by_any_angle, "The sine is the root of 1 − cos², which is never negative; take the sine of the angle.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.cos().acos())),
    wrong!("2.6", rotates_by_any_angle, "The cosine is the root of 1 − sin², which is never negative; take the cosine of the angle.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.sin().asin())),
    wrong!("2.6", rotates_by_any_angle, "The angle is reduced to half a turn; a whole turn is 2π.",
        turn: |points, angle| (REFERENCE.turn)(points, angle % PI)),
    wrong!("2.6", rotates_by_any_angle, "The angle is reduced to half a turn; a whole turn is 2π.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.rem_euclid(PI))),
    wrong!("2.6", rotates_by_any_angle, "A negative angle does nothing; it rotates clockwise.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.max(0.0))),
    wrong!("2.6", rotates_by_any_angle, "The angle is cut off at a whole turn; it may be larger.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.clamp(-TAU, TAU))),
    wrong!("2.6", rotates_by_any_angle, "π has too few digits; use `std::f64::consts`, or take the sine of the angle as it is.",
        turn: |points, angle| (REFERENCE.turn)(points, angle % ((TAU * 100.0).floor() / 100.0))),
    wrong!("2.6", rotates_by_any_angle, "π has too few digits; use `std::f64::consts`, or take the sine of the angle as it is.",
        turn: |points, angle| (REFERENCE.turn)(points, angle.rem_euclid((TAU * 100.0).floor() / 100.0))),
    wrong!("2.6", takes_sine_and_cosine_in_f64, "The angle is reduced by 360; it is in radians, and a turn is 2π.",
        turn: |points, angle| (REFERENCE.turn)(points, angle % 360.0)),
    wrong!("2.6", takes_sine_and_cosine_in_f64,
        "The angle is rounded to f32 before its sine is taken: a large angle loses its digits. Take sine and cosine in f64, then round.",
        turn: |points, angle| (REFERENCE.turn)(points, f64::from(angle as f32))),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "One draw moves all three coordinates of a point; each has its own.",
    jitter: |points, deviation, random| for p in points {
        let noise = cut(random.normal()) * deviation;
        p.iter_mut().for_each(|c| *c += noise);
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "All x are drawn first, then all y; draw point by point.",
    jitter: |points, deviation, random| for a in 0..3 {
        points.iter_mut().for_each(|p| p[a] += cut(random.normal()) * deviation);
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise is uniform; `random.normal()` draws from a normal distribution.",
    jitter: |points, deviation, random| for c in points.iter_mut().flatten() {
        *c += random.range(-1.0, 1.0) as f32 * deviation;
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise multiplies the coordinate; it is added.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c * (1.0 + cut(draw) * d))),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise comes from a new generator; all randomness must come from `random`.",
        jitter: |points, deviation, _| (REFERENCE.jitter)(points, deviation, &mut Philox::new(0, 0))),
    wrong!("2.7", scales_the_noise_by_the_deviation, "The noise is scaled by the variance, the square of the deviation.",
        jitter: |points, deviation, random| (REFERENCE.jitter)(points, deviation * deviation, random)),
    wrong!("2.7", scales_the_noise_by_the_deviation, "The deviation is ignored unless it is 0.",
        jitter: |points, deviation, random| (REFERENCE.jitter)(points, deviation.min(f32::MIN_POSITIVE) / f32::MIN_POSITIVE, random)),
    wrong!("2.7", clamps_draws_at_5, "Draws are not clamped: one draw in two million moves a point far away.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + draw as f32 * d)),
    wrong!("2.7", clamps_draws_at_5, "The noise is clamped to ±5 units of the cloud; clamp the draw, then scale it.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + (draw as f32 * d).clamp(-5.0, 5.0))),
    wrong!("2.7", clamps_draws_at_5, "A draw beyond ±5 is treated as 0; it should count as ±5.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| if draw.abs() > 5.0 { c } else { c + draw as f32 * d })),
    wrong!("2.7", clamps_draws_at_5, "A draw beyond ±5 is drawn again; it should count as ±5.",
    jitter: |points, deviation, random| for c in points.iter_mut().flatten() {
        let kept = std::iter::repeat_with(|| random.normal()).find(|draw| draw.abs() <= 5.0);
        *c += kept.unwrap_or(0.0) as f32 * deviation;
    }),
    wrong!("2.7", leaves_the_cloud_unchanged_without_noise, "The noise replaces the coordinate; add it to the coordinate.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |_, draw, d| cut(draw) * d)),
    wrong!("2.7", advances_the_generator, "The draws come from a copy of `random`: the next cloud would get the same noise.",
        jitter: |points, deviation, random| (REFERENCE.jitter)(points, deviation, &mut random.clone())),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The height gets no noise, and no draw; every coordinate has one.",
    jitter: |points, deviation, random| for p in points {
        p[..2].iter_mut().for_each(|c| *c += cut(random.normal()) * deviation);
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The height gets no noise; every coordinate does.",
    jitter: |points, deviation, random| for p in points {
        let z = p[2];
        (REFERENCE.jitter)(std::slice::from_mut(p), deviation, random);
        p[2] = z;
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The draws are for z, y, x; the order is x, y, z.",
    jitter: |points, deviation, random| for p in points {
        p.iter_mut().rev().for_each(|c| *c += cut(random.normal()) * deviation);
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "There is more than one draw for a coordinate, or one that is not used.",
    jitter: |points, deviation, random| for p in points {
        (REFERENCE.jitter)(std::slice::from_mut(p), deviation, random);
        random.normal();
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "There is more than one draw for a coordinate, or one that is not used.",
    jitter: |points, deviation, random| for c in points.iter_mut().flatten() {
        *c += cut(random.normal()) * deviation;
        random.normal();
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "There is more than one draw for a coordinate, or one that is not used.",
    jitter: |points, deviation, random| {
        random.normal();
        (REFERENCE.jitter)(points, deviation, random);
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The sign of a draw is lost: all points move the same way.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + cut(draw.abs()) * d)),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise is uniform; `random.normal()` draws from a normal distribution.",
        jitter: |points, deviation, random| points.iter_mut().flatten().for_each(|c| *c += random.range(-5.0, 5.0) as f32 * deviation)),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "All points get the same noise; there is a draw for each coordinate of each point.",
    jitter: |points, deviation, random| {
        let noise = [(); 3].map(|()| cut(random.normal()) * deviation);
        points.iter_mut().for_each(|p| (0..3).for_each(|a| p[a] += noise[a]));
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "There is one draw for the whole cloud; there is one for each coordinate of each point.",
    jitter: |points, deviation, random| {
        let noise = cut(random.normal()) * deviation;
        points.iter_mut().flatten().for_each(|c| *c += noise);
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise is another in each call: it must come from `random` only.",
    jitter: |points, deviation, _| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        (REFERENCE.jitter)(points, deviation, &mut Philox::new(now.as_nanos() as u64, 0));
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The noise is subtracted; add it.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c - cut(draw) * d)),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The draw is rounded to a whole number.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + cut(draw).trunc() * d)),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "A coordinate that is 0 gets no noise, and no draw; every coordinate has one.",
    jitter: |points, deviation, random| for c in points.iter_mut().flatten().filter(|c| **c != 0.0) {
        *c += cut(random.normal()) * deviation;
    }),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The deviation is added to the draw; the draw is multiplied by it.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + cut(draw) + d)),
    wrong!("2.7", scales_the_noise_by_the_deviation, "The draws are clamped to ±`deviation`; clamp them to ±5.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + (draw as f32 * d).clamp(-d, d))),
    wrong!("2.7", scales_the_noise_by_the_deviation, "The draws are clamped to ±`deviation`; clamp them to ±5.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + (draw as f32).clamp(-d, d) * d)),
    wrong!("2.7", adds_a_draw_to_each_coordinate, "The coordinate is clamped to ±5; clamp the draw.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| (c + draw as f32 * d).clamp(-5.0, 5.0))),
    wrong!("2.7", scales_the_noise_by_the_deviation, "The noise is scaled by the root of the deviation.",
        jitter: |points, deviation, random| (REFERENCE.jitter)(points, deviation.sqrt(), random)),
    wrong!("2.7", scales_the_noise_by_the_deviation, "The draw is divided by the deviation; multiply it.",
        jitter: |points, deviation, random| if deviation > 0.0 { (REFERENCE.jitter)(points, 1.0 / deviation, random) }),
    wrong!("2.7", clamps_draws_at_5, "A draw beyond ±5 ends the loop; it counts as ±5, and the next coordinates get noise, too.",
    jitter: |points, deviation, random| for c in points.iter_mut().flatten() {
        let draw = random.normal();
        if draw.abs() > 5.0 { return }
        *c += draw as f32 * deviation;
    }),
    wrong!("2.7", clamps_draws_at_5, "A draw below −5 counts as +5: the clamp loses its sign.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + if draw.abs() > 5.0 { 5.0 } else { draw as f32 } * d)),
    wrong!("2.7", clamps_draws_at_5, "Only draws above 5 are clamped; those below −5 are, too.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + draw.min(5.0) as f32 * d)),
    wrong!("2.7", clamps_draws_at_5, "Only draws below −5 are clamped; those above 5 are, too.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + draw.max(-5.0) as f32 * d)),
    wrong!("2.7", clamps_draws_at_5, "The draws are clamped at less than ±5.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + draw.clamp(-3.0, 3.0) as f32 * d)),
    wrong!("2.7", clamps_draws_at_5, "The draws are clamped at less than ±5.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + draw.clamp(-4.0, 4.0) as f32 * d)),
    wrong!("2.7", advances_the_generator, "There is a draw more than the cloud has coordinates: the next cloud gets other noise.",
    jitter: |points, deviation, random| {
        (REFERENCE.jitter)(points, deviation, random);
        random.normal();
    }),
    wrong!("2.8", finds_the_maximum_of_every_channel, "This is the greatest channel of each point; take the greatest point of each channel.",
    survivors: |x| {
        let mut found: Vec<usize> = x.argmax(1)?.to_vec1::<u32>()?.into_iter().map(|c| c as usize).collect();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }),
    wrong!("2.8", finds_the_maximum_of_every_channel, "These are the points with the least values.",
        survivors: |x| (REFERENCE.survivors)(&x.affine(-1.0, 9.0)?)),
    wrong!("2.8", finds_the_maximum_of_every_channel, "Points above the mean count as well; only the greatest survives the max.",
    survivors: |x| chosen(x, |list| {
        let mean = list.iter().sum::<f64>() / list.len() as f64;
        (0..list.len()).filter(|&p| list[p] >= mean).collect()
    })),
    wrong!("2.8", finds_the_maximum_of_every_channel, "Only the greatest value of all channels counts; each channel has its own.",
    survivors: |x| {
        let all = x.flatten_all()?.to_dtype(DType::F64)?.to_vec1::<f64>()?;
        Ok(equals(&all, top(&all)).first().map(|at| at / x.dims()[1]).into_iter().collect())
    }),
    wrong!("2.8", finds_the_maximum_of_every_channel, "Point 0 is dropped; it is a point like any other.",
        survivors: |x| Ok((REFERENCE.survivors)(x)?.into_iter().filter(|&p| p > 0).collect())),
    wrong!("2.8", finds_the_maximum_of_every_channel, "The last channel is left out.",
        survivors: |x| if x.dim(1)? > 1 { (REFERENCE.survivors)(&x.narrow(1, 0, x.dim(1)? - 1)?) } else { Ok(Vec::new()) }),
    wrong!("2.8", finds_the_maximum_of_every_channel,
        "A point counts if any of its values is above 0; it should have the maximum of a channel.",
        survivors: |x| chosen(x, |list| (0..list.len()).filter(|&p| list[p] > 0.0).collect())),
    wrong!("2.8", finds_the_maximum_of_every_channel, "These are the channels, not the points that have their maximum.",
        survivors: |x| Ok((0..x.dim(1)?).collect())),
    wrong!("2.8", finds_the_maximum_of_every_channel, "Indices begin at 0, not at 1.",
        survivors: |x| Ok((REFERENCE.survivors)(x)?.into_iter().map(|p| p + 1).collect())),
    wrong!("2.8", finds_the_maximum_of_every_channel, "Points that have the maximum of only one channel are left out.",
    survivors: |x| {
        let all = winners(x, lives)?;
        Ok(sorted(all.clone()).into_iter().filter(|p| all.iter().filter(|q| *q == p).count() > 1).collect())
    }),
    wrong!("2.8", lists_each_point_once_in_order, "A point with the maximum of several channels is listed several times.",
    survivors: |x| {
        let mut all = winners(x, lives)?;
        all.sort_unstable();
        Ok(all)
    }),
    wrong!("2.8", lists_each_point_once_in_order, "`dedup` removes equal neighbours only; sort first.",
    survivors: |x| {
        let mut all = winners(x, lives)?;
        all.dedup();
        all.sort_unstable();
        Ok(all)
    }),
    wrong!("2.8", lists_each_point_once_in_order, "The points are in the order of the channels, and listed several times; sort them, then `dedup`.",
    survivors: |x| {
        let mut all = winners(x, lives)?;
        all.dedup();
        Ok(all)
    }),
    wrong!("2.8", lists_each_point_once_in_order, "The points are in the order of the channels; sort them.",
    survivors: |x| {
        let mut all = Vec::new();
        winners(x, lives)?.into_iter().for_each(|p| if !all.contains(&p) { all.push(p) });
        Ok(all)
    }),
    wrong!("2.8", lists_each_point_once_in_order, "The points are in descending order.",
        survivors: |x| Ok((REFERENCE.survivors)(x)?.into_iter().rev().collect())),
    wrong!("2.8", lists_each_point_once_in_order, "The points are sorted as text, which has 10 before 2.",
    survivors: |x| {
        let mut all = (REFERENCE.survivors)(x)?;
        all.sort_by_key(usize::to_string);
        Ok(all)
    }),
    wrong!("2.8", counts_the_first_of_equal_points, "All points with an equal maximum count; only the first should.",
        survivors: |x| chosen(x, |list| equals(list, top(list)))),
    wrong!("2.8", counts_the_first_of_equal_points, "The last of equal points counts; the first should.",
        survivors: |x| chosen(x, |list| equals(list, top(list)).last().copied().into_iter().collect())),
    wrong!("2.8", ignores_channels_that_are_zero, "A channel that is 0 for one point is taken as dead; only one whose maximum is 0 is.",
        survivors: |x| Ok(sorted(winners(x, |list| list.iter().all(|&v| v > 0.0))?))),
    wrong!("2.8", ignores_channels_that_are_zero, "A channel is taken as dead if it is 0 for point 0; only one whose maximum is 0 is.",
        survivors: |x| Ok(sorted(winners(x, |list| list[0] > 0.0)?))),
    wrong!("2.8", counts_tiny_maxima, "A channel whose maximum is small is taken as dead; only one whose maximum is 0 is.",
        survivors: |x| Ok(sorted(winners(x, |list| top(list) > 1e-6)?))),
    wrong!("2.8", counts_tiny_maxima, "A channel whose maximum is small is taken as dead; only one whose maximum is 0 is.",
        survivors: |x| Ok(sorted(winners(x, |list| top(list) > 1e-3)?))),
    wrong!("2.8", ignores_channels_that_are_zero,
        "Points whose values are all 0 are removed before the others are counted; an index counts all points.",
    survivors: |x| {
        let rows = x.to_vec2::<f32>()?;
        let kept: Vec<usize> = (0..rows.len()).filter(|&p| rows[p].iter().any(|&v| v > 0.0)).collect();
        let all = (REFERENCE.survivors)(x)?;
        Ok(all.into_iter().filter_map(|p| kept.iter().position(|&k| k == p)).collect())
    }),
    wrong!("2.8", lists_each_point_once_in_order, "The order is another in each call: a `HashSet` or `HashMap` has no order. Sort the points.",
    survivors: |x| {
        let all: std::collections::HashSet<usize> = (REFERENCE.survivors)(x)?.into_iter().collect();
        Ok(all.into_iter().collect())
    }),
    wrong!("2.8", accepts_values_without_a_maximum, "An empty list is no error: every channel may be 0.",
    survivors: |x| {
        let all = (REFERENCE.survivors)(x)?;
        if all.is_empty() { candle_core::bail!("no point survives") }
        Ok(all)
    }),
    wrong!("2.8", ignores_channels_that_are_zero, "A channel that is 0 for every point is counted for the first point.",
        survivors: |x| (REFERENCE.survivors)(&(x + 1.0)?)),
];
