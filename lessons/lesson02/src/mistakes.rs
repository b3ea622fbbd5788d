//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use candle_core::{D, Tensor};
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
    wrong!("2.1", stays_exact_far_from_the_origin,
        "The sum of the centroid is an f32 with seven digits, so that small terms are rounded away. Sum in f64.",
    normalise: |points| {
        let mut sum = [0f32; 3];
        points.iter().for_each(|p| (0..3).for_each(|a| sum[a] += p[a]));
        in_f32(points, sum.map(|s| s / points.len().max(1) as f32));
    }),
    wrong!("2.1", stays_exact_far_from_the_origin,
        "The mean is summed in f32, and each term is rounded. Sum in f64.",
    normalise: |points| {
        let (n, mut centre) = (points.len().max(1) as f32, [0f32; 3]);
        points.iter().for_each(|p| (0..3).for_each(|a| centre[a] += p[a] / n));
        in_f32(points, centre);
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
        "x has three axes and w has two: make one matrix of all points first, or repeat w for each cloud.",
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
    wrong!("2.2", has_gradients_for_all_inputs,
        "The weight was detached, or converted to numbers: no gradient reaches it.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(x, &w.detach(), b)),
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
        max_points: |x| (REFERENCE.max_points)(&x.narrow(1, 0, x.dim(1)?.max(2) - 1)?)),
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
    wrong!("2.7", clamps_the_noise_at_5_deviations, "Draws are not clamped: one draw in two million moves a point far away.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + draw as f32 * d)),
    wrong!("2.7", clamps_the_noise_at_5_deviations, "The noise is clamped to ±5 units of the cloud; clamp the draw, then scale it.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| c + (draw as f32 * d).clamp(-5.0, 5.0))),
    wrong!("2.7", clamps_the_noise_at_5_deviations, "A draw beyond ±5 is treated as 0; it should count as ±5.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |c, draw, d| if draw.abs() > 5.0 { c } else { c + draw as f32 * d })),
    wrong!("2.7", clamps_the_noise_at_5_deviations, "A draw beyond ±5 is drawn again; it should count as ±5.",
    jitter: |points, deviation, random| for c in points.iter_mut().flatten() {
        let kept = std::iter::repeat_with(|| random.normal()).find(|draw| draw.abs() <= 5.0);
        *c += kept.unwrap_or(0.0) as f32 * deviation;
    }),
    wrong!("2.7", leaves_the_cloud_unchanged_without_noise, "The noise replaces the coordinate; add it to the coordinate.",
        jitter: |points, deviation, random| noisy(points, deviation, random, |_, draw, d| cut(draw) * d)),
    wrong!("2.7", advances_the_generator, "The draws come from a copy of `random`: the next cloud would get the same noise.",
        jitter: |points, deviation, random| (REFERENCE.jitter)(points, deviation, &mut random.clone())),
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
        let mean = list.iter().sum::<f32>() / list.len() as f32;
        (0..list.len()).filter(|&p| list[p] >= mean).collect()
    })),
    wrong!("2.8", finds_the_maximum_of_every_channel, "Only the greatest value of all channels counts; each channel has its own.",
    survivors: |x| {
        let all = x.flatten_all()?.to_vec1::<f32>()?;
        Ok(equals(&all, top(&all)).first().map(|at| at / x.dims()[1]).into_iter().collect())
    }),
    wrong!("2.8", lists_each_point_once_in_order, "A point with the maximum of several channels is listed several times.",
    survivors: |x| {
        let mut all = Vec::new();
        for channel in x.t()?.to_vec2::<f32>()? {
            all.extend(equals(&channel, top(&channel)).first().filter(|&&p| channel[p] > 0.0));
        }
        all.sort_unstable();
        Ok(all)
    }),
    wrong!("2.8", lists_each_point_once_in_order, "The points are in the order of the channels; sort them.",
    survivors: |x| {
        let mut all = Vec::new();
        for channel in x.t()?.to_vec2::<f32>()? {
            let first = equals(&channel, top(&channel)).first().copied();
            all.extend(first.filter(|p| channel[*p] > 0.0 && !all.contains(p)));
        }
        Ok(all)
    }),
    wrong!("2.8", counts_the_first_of_equal_points, "All points with an equal maximum count; only the first should.",
        survivors: |x| chosen(x, |list| equals(list, top(list)))),
    wrong!("2.8", counts_the_first_of_equal_points, "The last of equal points counts; the first should.",
        survivors: |x| chosen(x, |list| equals(list, top(list)).last().copied().into_iter().collect())),
    wrong!("2.8", ignores_channels_that_are_zero, "A channel that is 0 for every point is counted for the first point.",
        survivors: |x| (REFERENCE.survivors)(&(x + 1.0)?)),
];
