//! Known wrong answers to exercise 1.2.

use super::*;

/// A loss of the probability plus a small number.
macro_rules! capped {
    ($small:literal) => {
        wrong!("1.2", stays_exact_for_tiny_probabilities,
        "A small number is added to the softmax, or is its lower limit, which limits the loss. Do not compute the probability: subtract the log of the sum.",
        cross_entropy: |x, y| picked(&(softmax(x)? + $small)?.log()?, y))
    };
}

/// A loss with a lower limit for x − m.
macro_rules! cut {
    ($limit:literal) => {
        wrong!("1.2", stays_exact_for_tiny_probabilities,
        "x − m is cut off from below, which limits the loss. A logit far below m needs no limit: its exp is 0, and the sum is at least 1.",
        cross_entropy: |x, y| {
            let low = x.broadcast_sub(&x.max_keepdim(1)?)?.maximum($limit)?;
            picked(&low.broadcast_sub(&low.exp()?.sum_keepdim(1)?.log()?)?, y)
        })
    };
}

pub const MISTAKES: &[Mistake<Lesson01>] = &[
    wrong!("1.2", is_the_mean_over_rows, "The loss is summed over the rows; take their mean.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)? * y.elem_count() as f64),
    wrong!("1.2", is_the_mean_over_rows, "The sign is wrong: the loss is minus the log of the probability.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)?.neg()),
    wrong!("1.2", is_the_mean_over_rows, "Every row uses the label of the first row; each row has its own.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, &y.i(..1)?.broadcast_as(y.shape())?.contiguous()?)),
    wrong!("1.2", is_the_mean_over_rows, "Every row uses class 0; use the label of the row.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, &y.zeros_like()?)),
    wrong!("1.2", is_the_mean_over_rows, "The class before the label is used; labels count from 0.",
    cross_entropy: |x, y| {
        let before: Vec<u32> = y.to_vec1::<u32>()?.iter().map(|label| label.saturating_sub(1)).collect();
        REFERENCE_LOSS(x, &Tensor::new(before, y.device())?)
    }),
    wrong!("1.2", is_the_mean_over_rows, "The loss is that of the most probable class; use the label of the row.",
        cross_entropy: |x, _| REFERENCE_LOSS(x, &x.argmax(1)?)),
    wrong!("1.2", is_the_mean_over_rows, "Only the first row counts; take the mean over all rows.",
        cross_entropy: |x, y| REFERENCE_LOSS(&x.i(..1)?, &y.i(..1)?)),
    wrong!("1.2", is_the_mean_over_rows, "The loss is divided by rows times classes; divide by the rows.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)? / x.dim(1)? as f64),
    wrong!("1.2", is_the_mean_over_rows, "The sum is divided by the number of classes; divide by the rows.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)? * (x.dim(0)? as f64 / x.dim(1)? as f64)),
    wrong!("1.2", is_the_mean_over_rows, "There is one loss for each row; return their mean, one number.",
        cross_entropy: |x, y| x.log_sum_exp(1)? - x.gather(&y.unsqueeze(1)?, 1)?.squeeze(1)?),
    wrong!("1.2", is_the_mean_over_rows, "There is one loss for each row; return their mean, one number.",
        cross_entropy: |x, y| x.log_sum_exp(1)?.unsqueeze(1)? - x.gather(&y.unsqueeze(1)?, 1)?),
    wrong!("1.2", is_the_mean_over_rows, "The loss is a list of one number, [1]; its shape must be []: use `mean_all`, or `squeeze`.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)?.reshape(1)),
    wrong!("1.2", is_the_mean_over_rows, "The loss is a matrix of one number, [1, 1]; its shape must be []: use `mean_all`.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)?.reshape((1, 1))),
    wrong!("1.2", is_the_mean_over_rows, "The largest loss is returned; return the mean over the rows.",
        cross_entropy: |x, y| (x.log_sum_exp(1)? - x.gather(&y.unsqueeze(1)?, 1)?.squeeze(1)?)?.max(0)),
    wrong!("1.2", is_the_mean_over_rows,
    "`-` requires equal shapes: the sum over classes lost its dimension. Keep it ([rows, 1]: unsqueeze, or sum_keepdim) and broadcast.",
    cross_entropy: |x, y| picked(&(x - x.log_sum_exp(1)?)?, y)),
    wrong!("1.2", is_the_mean_over_rows,
    "Shapes are broadcast from their last dimension: [rows] does not match [rows, classes]. Keep the summed dimension ([rows, 1]).",
    cross_entropy: |x, y| picked(&x.broadcast_sub(&x.log_sum_exp(1)?)?, y)),
    wrong!("1.2", is_the_mean_over_rows,
    "`-` requires equal shapes, and one of these is [rows, 1] and the other [rows]: squeeze(1) the one, or unsqueeze(1) the other.",
    cross_entropy: |x, y| (x.log_sum_exp(1)? - x.gather(&y.unsqueeze(1)?, 1)?)?.mean_all()),
    wrong!("1.2", is_the_mean_over_rows,
    "`-` requires equal shapes, and one of these is [rows, 1] and the other [rows]: squeeze(1) the one, or unsqueeze(1) the other.",
    cross_entropy: |x, y| {
        let hit = x.gather(&y.unsqueeze(1)?, 1)?.squeeze(1)?;
        (x.log_sum_exp(1)?.unsqueeze(1)? - hit)?.mean_all()
    }),
    wrong!("1.2", is_the_mean_over_rows,
    "`-` requires equal shapes, also for [rows, classes] and [rows, 1]: use `broadcast_sub`.",
    cross_entropy: |x, y| picked(&(x - x.max_keepdim(1)?)?, y)),
    wrong!("1.2", is_the_mean_over_rows, "`gather` requires the labels as [rows, 1]: `labels.unsqueeze(1)`.",
        cross_entropy: |x, y| x.gather(y, 1)?.mean_all()),
    wrong!("1.2", is_the_mean_over_rows, "Each row is compared with the labels of all rows; `gather` takes one entry of each row.",
        cross_entropy: |x, y| x.log_sum_exp(1)?.unsqueeze(1)?.broadcast_sub(&x.index_select(y, 1)?)?.mean_all()),
    wrong!("1.2", is_the_mean_over_rows, "The sum runs over the rows; sum over the classes of each row, axis 1.",
    cross_entropy: |x, y| {
        picked(&x.broadcast_sub(&x.log_sum_exp(0)?.unsqueeze(0)?)?, y)
    }),
    wrong!("1.2", is_the_mean_over_rows, "There is one sum for all rows; each row has its own: sum over axis 1.",
    cross_entropy: |x, y| {
        picked(&x.broadcast_sub(&x.flatten_all()?.log_sum_exp(0)?)?, y)
    }),
    wrong!("1.2", is_the_mean_over_rows, "The log is left out: this is minus the probability.",
        cross_entropy: |x, y| picked(&softmax(x)?, y)),
    wrong!("1.2", is_the_mean_over_rows, "The log is left out: this is 1 minus the probability.",
        cross_entropy: |x, y| picked(&(softmax(x)? - 1.0)?, y)),
    wrong!("1.2", is_the_mean_over_rows, "Softmax is taken twice: the logits are not probabilities yet, and log-sum-exp belongs to logits.",
        cross_entropy: |x, y| REFERENCE_LOSS(&softmax(x)?, y)),
    wrong!("1.2", is_the_mean_over_rows, "The greatest logit is subtracted in the sum, but not added to its log again (or not subtracted from the label's logit).",
    cross_entropy: |x, y| {
        let top = x.max_keepdim(1)?;
        (REFERENCE_LOSS(x, y)? - top.mean_all()?)? + 0.0
    }),
    wrong!("1.2", is_the_mean_over_rows, "The greatest logit is subtracted from the label's logit, but not in log-sum-exp.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)? + x.max_keepdim(1)?.mean_all()?),
    wrong!("1.2", is_the_mean_over_rows, "The greatest logit is used in place of log-sum-exp; the other classes count as well.",
        cross_entropy: |x, y| picked(&x.broadcast_sub(&x.max_keepdim(1)?)?, y)),
    wrong!("1.2", is_the_mean_over_rows, "The log of the sum is left out.",
    cross_entropy: |x, y| {
        let low = x.broadcast_sub(&x.max_keepdim(1)?)?;
        picked(&low.broadcast_sub(&low.exp()?.sum_keepdim(1)?)?, y)
    }),
    wrong!("1.2", is_the_mean_over_rows, "The log is taken of the mean over the classes; take it of their sum.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)? - (x.dim(1)? as f64).ln()),
    wrong!("1.2", is_the_mean_over_rows, "Only log-sum-exp is returned: subtract the logit of the label.",
        cross_entropy: |x, _| x.log_sum_exp(1)?.mean_all()),
    wrong!("1.2", is_the_mean_over_rows, "The labels are not used: take −log p of the label's class alone.",
        cross_entropy: |x, _| x.broadcast_sub(&x.log_sum_exp(1)?.unsqueeze(1)?)?.mean_all()?.neg()),
    wrong!("1.2", is_the_mean_over_rows, "The labels are not used: take −log p of the label's class alone.",
        cross_entropy: |x, _| x.broadcast_sub(&x.log_sum_exp(1)?.unsqueeze(1)?)?.sum(1)?.mean_all()?.neg()),
    wrong!("1.2", is_the_mean_over_rows, "The labels are not used: this is the entropy −Σ p·log p. Take −log p of the label's class.",
        cross_entropy: |x, _| (softmax(x)? * softmax(x)?.log()?)?.sum(1)?.mean_all()?.neg()),
    wrong!("1.2", is_the_mean_over_rows, "The probability of the label is multiplied by its log; take −log p alone.",
        cross_entropy: |x, y| picked(&(softmax(x)? * softmax(x)?.log()?)?, y)),
    wrong!("1.2", is_the_mean_over_rows, "The log has base 2 or 10; use the natural one, `log()`.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)? / std::f64::consts::LN_2),
    wrong!("1.2", is_the_mean_over_rows, "This is the log of the mean probability; take the mean of the logs.",
        cross_entropy: |x, y| softmax(x)?.gather(&y.unsqueeze(1)?, 1)?.mean_all()?.log()?.neg()),
    wrong!("1.2", is_the_mean_over_rows, "The labels do not fit into the integers that they are converted to; use them as u32.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, &y.to_dtype(DType::U8)?.to_dtype(DType::U32)?)),
    wrong!("1.2", is_the_mean_over_rows, "The rows are averaged in chunks, and the last chunk has fewer: divide the sum over all rows by their number.",
    cross_entropy: |x, y| {
        let rows = x.dim(0)?;
        let starts = (0..rows).step_by(32).map(|i| (i, (rows - i).min(32)));
        let means = starts.map(|(i, len)| REFERENCE_LOSS(&x.narrow(0, i, len)?, &y.narrow(0, i, len)?));
        Tensor::stack(&means.collect::<Result<Vec<_>>>()?, 0)?.mean_all()
    }),
    wrong!("1.2", stays_exact_for_tiny_probabilities,
    "The log is taken of a softmax that was rounded to 0. Do not compute the probability: subtract the log of the sum.",
    cross_entropy: |x, y| picked(&softmax(x)?.log()?, y)),
    wrong!("1.2", stays_exact_for_tiny_probabilities,
    "The log is taken of a softmax that was rounded to 0. Do not compute the probability: subtract the log of the sum.",
    cross_entropy: |x, y| {
        let e = x.exp()?;
        picked(&e.broadcast_div(&e.sum_keepdim(1)?)?.log()?, y)
    }),
    wrong!("1.2", stays_exact_for_tiny_probabilities,
    "The log of a softmax that was rounded to 0 is -inf, and 0 times -inf is NaN. Subtract the log of the sum, and `gather` the label.",
    cross_entropy: |x, y| {
        let hot = one_hot(x, y)?.to_dtype(x.dtype())?;
        (softmax(x)?.log()? * hot)?.sum(1)?.mean_all()?.neg()
    }),
    capped!(1e-5),
    capped!(1e-6),
    capped!(1e-7),
    capped!(1e-8),
    capped!(1e-9),
    capped!(1e-10),
    capped!(1e-12),
    capped!(1e-15),
    cut!(-30.0),
    cut!(-50.0),
    cut!(-60.0),
    cut!(-80.0),
    cut!(-87.0),
    cut!(-88.0),
    wrong!("1.2", stays_exact_for_tiny_probabilities, "The loss is cut off at 100; it may be larger.",
        cross_entropy: |x, y| (x.log_sum_exp(1)? - x.gather(&y.unsqueeze(1)?, 1)?.squeeze(1)?)?.clamp(0.0, 100.0)?.mean_all()),
    wrong!("1.2", stays_exact_for_tiny_probabilities,
    "Rows whose loss is not finite are left out of the mean; their losses are finite if no probability is computed.",
    cross_entropy: |x, y| {
        let e = x.exp()?;
        let p = e.broadcast_div(&e.sum_keepdim(1)?)?.gather(&y.unsqueeze(1)?, 1)?;
        let keep = p.gt(0.0)?;
        let log_p = keep.where_cond(&p, &p.ones_like()?)?.log()?;
        (log_p.sum_all()? / keep.to_dtype(x.dtype())?.sum_all()?)?.neg()
    }),
    wrong!("1.2", stays_exact_for_tiny_probabilities,
        "The least logit is subtracted, so that the others still overflow in exp: subtract the greatest of the row.",
        cross_entropy: |x, y| shifted(x, &x.min_keepdim(1)?, y)),
    wrong!("1.2", stays_finite_for_huge_logits,
        "exp overflows for large logits: subtract the greatest logit of each row first, and add it to the log afterwards.",
        cross_entropy: |x, y| shifted(x, &x.max_keepdim(1)?.zeros_like()?, y)),
    wrong!("1.2", stays_finite_for_huge_logits,
    "The same greatest logit is subtracted from all rows; a row far below it underflows to log 0. Each row has its own.",
    cross_entropy: |x, y| shifted(x, &x.flatten_all()?.max(0)?, y)),
    wrong!("1.2", stays_finite_for_huge_logits,
    "The greatest logit of each column is subtracted; a row far below it underflows to log 0. Take the greatest of the row, axis 1.",
    cross_entropy: |x, y| shifted(x, &x.max_keepdim(0)?, y)),
    wrong!("1.2", stays_finite_for_huge_logits,
        "The mean of the row is subtracted, and exp of the others still overflows: subtract the greatest.",
        cross_entropy: |x, y| shifted(x, &x.mean_keepdim(1)?, y)),
    wrong!("1.2", stays_finite_for_huge_logits,
        "A constant is subtracted, or only a positive logit: a row of large negative logits underflows to log 0. Subtract the greatest of each row.",
        cross_entropy: |x, y| shifted(x, &x.max_keepdim(1)?.relu()?, y)),
    wrong!("1.2", stays_finite_for_huge_logits, "The logits are cut off, which changes the loss; subtract the greatest of each row.",
        cross_entropy: |x, y| REFERENCE_LOSS(&x.clamp(-80.0, 80.0)?, y)),
    wrong!("1.2", has_the_right_gradient,
        "The logits were detached, or converted to numbers: no gradient reaches them.",
        cross_entropy: |x, y| REFERENCE_LOSS(&x.detach(), y)),
    wrong!("1.2", has_the_right_gradient,
    "The greatest logit is detached where it is subtracted, and not where it is added again. Detach both, or none.",
    cross_entropy: |x, y| {
        let top = x.max_keepdim(1)?;
        let sum = x.broadcast_sub(&top.detach())?.exp()?.sum_keepdim(1)?;
        ((sum.log()? + top)? - x.gather(&y.unsqueeze(1)?, 1)?)?.mean_all()
    }),
    wrong!("1.2", has_the_right_gradient,
    "The greatest logit is detached where it is added again, and not where it is subtracted. Detach both, or none.",
    cross_entropy: |x, y| {
        let top = x.max_keepdim(1)?;
        let sum = x.broadcast_sub(&top)?.exp()?.sum_keepdim(1)?;
        ((sum.log()? + top.detach())? - x.gather(&y.unsqueeze(1)?, 1)?)?.mean_all()
    }),
    wrong!("1.2", has_the_right_gradient,
    "Only the logit of the label has a gradient: log-sum-exp was detached.",
    cross_entropy: |x, y| {
        let low = x.broadcast_sub(&x.max_keepdim(1)?)?;
        picked(&low.broadcast_sub(&low.exp()?.sum_keepdim(1)?.log()?.detach())?, y)
    }),
    wrong!("1.2", has_the_right_gradient,
        "Only the logit of the label has a gradient: log-sum-exp was detached.",
        cross_entropy: |x, y| picked(&x.broadcast_sub(&x.log_sum_exp(1)?.unsqueeze(1)?.detach())?, y)),
    wrong!("1.2", has_the_right_gradient,
        "The label's logit has no gradient of its own: it was detached, or read as a number.",
        cross_entropy: |x, y| (x.log_sum_exp(1)? - x.detach().gather(&y.unsqueeze(1)?, 1)?.squeeze(1)?)?.mean_all()),
    wrong!("1.2", keeps_the_dtype_of_the_logits, "The loss is computed in f32; compute it in the dtype of the logits.",
        cross_entropy: |x, y| REFERENCE_LOSS(&x.to_dtype(DType::F32)?, y)?.to_dtype(x.dtype())),
    wrong!("1.2", keeps_the_dtype_of_the_logits, "The loss is always of f32; it must have the dtype of the logits.",
        cross_entropy: |x, y| REFERENCE_LOSS(&x.to_dtype(DType::F32)?, y)),
    wrong!("1.2", keeps_the_dtype_of_the_logits, "The loss is always of f32; it must have the dtype of the logits.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)?.to_dtype(DType::F32)),
    wrong!("1.2", keeps_the_dtype_of_the_logits, "The loss of f16 and bf16 logits is of f32; convert it back with `to_dtype(logits.dtype())`.",
    cross_entropy: |x, y| {
        let half = matches!(x.dtype(), DType::F16 | DType::BF16);
        REFERENCE_LOSS(&x.to_dtype(if half { DType::F32 } else { x.dtype() })?, y)
    }),
    wrong!("1.2", keeps_the_dtype_of_the_logits, "The labels are compared in the dtype of the logits, and bf16 does not have all numbers above 256; compare them as u32.",
    cross_entropy: |x, y| {
        let column = Tensor::arange(0u32, x.dim(1)? as u32, x.device())?.to_dtype(x.dtype())?;
        let same = column.broadcast_as(x.shape())?.broadcast_eq(&y.to_dtype(x.dtype())?.unsqueeze(1)?)?;
        let low = x.broadcast_sub(&x.max_keepdim(1)?)?;
        let log_p = low.broadcast_sub(&low.exp()?.sum_keepdim(1)?.log()?)?;
        (log_p * same.to_dtype(x.dtype())?)?.sum_all()?.neg()? / x.dim(0)? as f64
    }),
    wrong!("1.2", is_the_mean_over_rows, "The loss is always of f64; it must have the dtype of the logits.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)?.to_dtype(DType::F64)),
    wrong!("1.2", keeps_the_dtype_of_the_logits, "A tensor of f32 is combined with logits of another dtype; convert it with `to_dtype(logits.dtype())`.",
        cross_entropy: |x, y| (x.log_sum_exp(1)?.unsqueeze(1)? * one_hot(x, y)?.to_dtype(DType::F32)?)?.mean_all()),
    wrong!("1.2", keeps_the_dtype_of_the_logits, "A tensor of f32 is combined with logits of another dtype; convert it with `to_dtype(logits.dtype())`.",
        cross_entropy: |x, y| (x * one_hot(x, y)?.to_dtype(DType::F32)?)?.mean_all()),
    wrong!("1.2", keeps_the_dtype_of_the_logits, "The logits are read as f32; convert them with `to_dtype` first, or compute with tensors, which also have a gradient.",
        cross_entropy: |x, _| Tensor::new(x.to_vec2::<f32>()?[0][0], x.device())),
];
