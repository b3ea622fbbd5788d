//! Known wrong answers to exercise 2.3.

use super::*;

pub const MISTAKES: &[Mistake<Lesson02>] = &[
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
        "A maximum below 0 becomes 0: the search starts at 0, or a ReLU follows. Start at the first point; the ReLU belongs to the layer before.",
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
    wrong!("2.3", sends_the_gradient_to_the_first_of_equal_points,
        "`maximum` passes half of the gradient to each of two equal values; the first of them should get all of it.",
    max_points: |x| {
        let mut best = x.get_on_dim(1, 0)?;
        for p in 1..x.dim(1)? {
            best = best.maximum(&x.get_on_dim(1, p)?)?;
        }
        Ok(best)
    }),
    wrong!("2.3", sends_the_gradient_to_the_maximum,
        "The gradient flows through `max` and through `gather`; use `gather` alone.",
    max_points: |x| {
        let first = (REFERENCE.max_points)(x)?;
        x.max(1)? + (&first - first.detach())?
    }),
    wrong!("2.3", sends_the_gradient_to_the_first_of_equal_points,
        "The gradient flows through `max` and through `gather`; use `gather` alone.",
        max_points: |x| (x.max(1)? + (REFERENCE.max_points)(x)?)? / 2.0),
];
