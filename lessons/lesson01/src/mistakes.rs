//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use candle_core::{DType, IndexOp, Tensor};
use grader::{Mistake, wrong};

use crate::{Lesson01, REFERENCE, answer_helpers::*};

/// A step of Adam with other parts.
macro_rules! adam {
    ($check:ident, $cause:literal, $($part:ident: $is:expr),+) => {
        wrong!("1.5", $check, $cause, adam_step: |p, g, s, lr, c| {
            twisted(p, g, s, lr, c, Twist { $($part: $is,)+ ..ADAM })
        })
    };
}

pub const MISTAKES: &[Mistake<Lesson01>] = &[
    wrong!("1.1", adds_the_bias_once, "The bias is left out.",
        neuron: |x, w, _, f| f(dot(x, w))),
    wrong!("1.1", adds_the_bias_once, "The bias is added once for each input, inside the sum.",
        neuron: |x, w, b, f| f(x.iter().zip(w).map(|(x, w)| x * w + b).sum())),
    wrong!("1.1", adds_the_bias_once, "The bias is added twice.",
        neuron: |x, w, b, f| f(dot(x, w) + 2.0 * b)),
    wrong!("1.1", adds_the_bias_once, "The bias is subtracted; it should be added.",
        neuron: |x, w, b, f| f(dot(x, w) - b)),
    wrong!("1.1", adds_the_bias_once, "The sum is multiplied by the bias; add the bias to it.",
        neuron: |x, w, b, f| f(dot(x, w) * b)),
    wrong!("1.1", adds_the_bias_once, "The bias is multiplied by the last weight; it has no weight.",
        neuron: |x, w, b, f| f(dot(x, w) + b * w.last().unwrap_or(&1.0))),
    wrong!("1.1", adds_the_bias_once, "The bias is multiplied by the first weight; it has no weight.",
        neuron: |x, w, b, f| f(dot(x, w) + b * w.first().unwrap_or(&1.0))),
    wrong!("1.1", adds_the_bias_once, "The bias is divided by the number of inputs; add it as it is.",
        neuron: |x, w, b, f| f(dot(x, w) + b / x.len().max(1) as f32)),
    wrong!("1.1", adds_the_bias_once, "The absolute value of the bias is added.",
        neuron: |x, w, b, f| f(dot(x, w) + b.abs())),
    wrong!("1.1", applies_the_activation_last, "The activation is never applied.",
        neuron: |x, w, b, _| dot(x, w) + b),
    wrong!("1.1", applies_the_activation_last, "The activation is applied before the bias is added; it comes last.",
        neuron: |x, w, b, f| f(dot(x, w)) + b),
    wrong!("1.1", applies_the_activation_last, "The activation is applied to each product; apply it to the whole sum.",
        neuron: |x, w, b, f| x.iter().zip(w).map(|(x, w)| f(x * w)).sum::<f32>() + f(b)),
    wrong!("1.1", applies_the_activation_last, "The activation is applied to each product; apply it to the whole sum.",
        neuron: |x, w, b, f| x.iter().zip(w).map(|(x, w)| f(x * w)).sum::<f32>() + b),
    wrong!("1.1", applies_the_activation_last, "The activation is applied to each product; apply it to the whole sum.",
        neuron: |x, w, b, f| f(x.iter().zip(w).map(|(x, w)| f(x * w)).sum::<f32>() + b)),
    wrong!("1.1", applies_the_activation_last, "The activation is applied to each input; apply it to the whole sum.",
        neuron: |x, w, b, f| x.iter().zip(w).map(|(x, w)| f(*x) * w).sum::<f32>() + b),
    wrong!("1.1", applies_the_activation_last, "Sum and bias go through the activation apart; add them first.",
        neuron: |x, w, b, f| f(dot(x, w)) + f(b)),
    wrong!("1.1", applies_the_activation_last, "The activation is applied twice; apply it once, to the sum with the bias.",
        neuron: |x, w, b, f| f(f(dot(x, w)) + b)),
    wrong!("1.1", applies_the_activation_last, "The activation is applied twice; apply it once, to the sum with the bias.",
        neuron: |x, w, b, f| f(f(dot(x, w) + b))),
    wrong!("1.1", applies_the_activation_last, "The activation is applied after every input; apply it once, at the end.",
        neuron: |x, w, b, f| x.iter().zip(w).fold(b, |sum, (x, w)| f(sum + x * w))),
    wrong!("1.1", applies_the_activation_last, "The activation is applied after every input; apply it once, at the end.",
        neuron: |x, w, b, f| f(x.iter().zip(w).fold(0.0, |sum, (x, w)| f(sum + x * w)) + b)),
    wrong!("1.1", applies_the_activation_last, "The activation is always ReLU; use the one that is passed in.",
        neuron: |x, w, b, _| (dot(x, w) + b).max(0.0)),
    wrong!("1.1", applies_the_activation_last, "The activation is always tanh; use the one that is passed in.",
        neuron: |x, w, b, _| (dot(x, w) + b).tanh()),
    wrong!("1.1", sums_weights_times_inputs, "Weights and inputs are paired in opposite order.",
        neuron: |x, w, b, f| f(x.iter().rev().zip(w).map(|(x, w)| x * w).sum::<f32>() + b)),
    wrong!("1.1", sums_weights_times_inputs, "The sum is divided by the number of inputs; it is not a mean.",
        neuron: |x, w, b, f| f(dot(x, w) / x.len().max(1) as f32 + b)),
    wrong!("1.1", sums_weights_times_inputs, "The sum is divided by the sum of the weights; it is not a mean.",
        neuron: |x, w, b, f| f(dot(x, w) / w.iter().sum::<f32>() + b)),
    wrong!("1.1", sums_weights_times_inputs, "The last input is left out: the loop ends one too early.",
        neuron: |x, w, b, f| f(x.iter().zip(w).rev().skip(1).map(|(x, w)| x * w).sum::<f32>() + b)),
    wrong!("1.1", sums_weights_times_inputs, "The first input is left out: the loop begins one too late.",
        neuron: |x, w, b, f| f(x.iter().zip(w).skip(1).map(|(x, w)| x * w).sum::<f32>() + b)),
    wrong!("1.1", sums_weights_times_inputs, "Only the last product counts: add to the sum with `+=`.",
        neuron: |x, w, b, f| f(x.last().unwrap_or(&0.0) * w.last().unwrap_or(&0.0) + b)),
    wrong!("1.1", sums_weights_times_inputs, "The sum starts at 1; it starts at 0.",
        neuron: |x, w, b, f| f(1.0 + dot(x, w) + b)),
    wrong!("1.1", sums_weights_times_inputs, "Inputs and weights are added; they are multiplied, and the products are added.",
        neuron: |x, w, b, f| f(x.iter().zip(w).map(|(x, w)| x + w).sum::<f32>() + b)),
    wrong!("1.1", sums_weights_times_inputs, "The inputs are added without their weights.",
        neuron: |x, _, b, f| f(x.iter().sum::<f32>() + b)),
    wrong!("1.1", sums_weights_times_inputs, "All inputs are added, then multiplied by all weights: multiply each input by its own weight.",
        neuron: |x, w, b, f| f(x.iter().sum::<f32>() * w.iter().sum::<f32>() + b)),
    wrong!("1.1", sums_weights_times_inputs, "The products are multiplied with each other; add them.",
        neuron: |x, w, b, f| f(x.iter().zip(w).map(|(x, w)| x * w).product::<f32>() + b)),
    wrong!("1.1", sums_weights_times_inputs, "The greatest product is taken; add all of them.",
        neuron: |x, w, b, f| f(x.iter().zip(w).map(|(x, w)| x * w).fold(f32::MIN, f32::max) + b)),
    wrong!("1.1", sums_weights_times_inputs, "Inputs that do not fill a block of 4 are left out.",
        neuron: |x, w, b, f| f(dot(&x[..x.len() / 4 * 4], w) + b)),
    wrong!("1.1", sums_weights_times_inputs, "The products are converted to whole numbers, which cuts off their fractions.",
        neuron: |x, w, b, f| f(x.iter().zip(w).map(|(x, w)| (x * w).trunc()).sum::<f32>() + b)),
    wrong!("1.1", accepts_any_number_of_inputs, "The first product is used although there may be none: start the sum at 0.",
        neuron: |x, w, b, f| f(x[0] * w[0] + dot(&x[1..], &w[1..]) + b)),
    wrong!("1.1", accepts_any_number_of_inputs, "`reduce` returns None if there is no input: use `sum` or `fold`, which start at 0.",
    neuron: |x, w, b, f| {
        #[allow(clippy::unwrap_used, reason = "this is the mistake")]
        let sum = x.iter().zip(w).map(|(x, w)| x * w).reduce(|a, c| a + c).unwrap();
        f(sum + b)
    }),
    wrong!("1.1", accepts_any_number_of_inputs, "`len() - 1` underflows if there is no input: end the range with `..x.len()`.",
    neuron: |x, w, b, f| {
        let last = x.len() - 1;
        f(dot(&x[..=last], w) + b)
    }),
    wrong!("1.1", accepts_any_number_of_inputs, "Without inputs the result is 0; it must be f(b).",
        neuron: |x, w, b, f| if x.is_empty() { 0.0 } else { f(dot(x, w) + b) }),
    wrong!("1.1", accepts_any_number_of_inputs, "Without inputs the bias is lost: the result is f(0) and must be f(b).",
        neuron: |x, w, b, f| f(if x.is_empty() { 0.0 } else { dot(x, w) + b })),
    wrong!("1.1", accepts_any_number_of_inputs, "Without inputs the activation is left out: the result is b and must be f(b).",
        neuron: |x, w, b, f| if x.is_empty() { b } else { f(dot(x, w) + b) }),
    wrong!("1.2", is_the_mean_over_rows, "The loss is summed over the rows; take their mean.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)? * y.elem_count() as f64),
    wrong!("1.2", is_the_mean_over_rows, "The sign is wrong: the loss is minus the log of the probability.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)?.neg()),
    wrong!("1.2", is_the_mean_over_rows, "Every row uses the label of the first row; each row has its own.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, &y.i(..1)?.broadcast_as(y.shape())?.contiguous()?)),
    wrong!("1.2", is_the_mean_over_rows, "Every row uses class 0; use the label of the row.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, &y.zeros_like()?)),
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
    wrong!("1.2", stays_exact_for_tiny_probabilities,
    "The log is taken of a softmax plus a small number, which limits the loss. Do not compute the probability: subtract the log of the sum.",
    cross_entropy: |x, y| picked(&(softmax(x)? + 1e-8)?.log()?, y)),
    wrong!("1.2", stays_exact_for_tiny_probabilities,
    "The log is taken of a softmax plus a small number, which limits the loss. Do not compute the probability: subtract the log of the sum.",
    cross_entropy: |x, y| picked(&(softmax(x)? + 1e-7)?.log()?, y)),
    wrong!("1.2", stays_exact_for_tiny_probabilities,
    "The log is taken of a softmax plus a small number, which limits the loss. Do not compute the probability: subtract the log of the sum.",
    cross_entropy: |x, y| picked(&(softmax(x)? + 1e-12)?.log()?, y)),
    wrong!("1.2", stays_exact_for_tiny_probabilities, "The loss is cut off at 100; it may be larger.",
        cross_entropy: |x, y| (x.log_sum_exp(1)? - x.gather(&y.unsqueeze(1)?, 1)?.squeeze(1)?)?.clamp(0.0, 100.0)?.mean_all()),
    wrong!("1.2", stays_exact_for_tiny_probabilities,
    "Rows whose loss is not finite are left out of the mean; their losses are finite if no probability is computed.",
    cross_entropy: |x, y| {
        let p = softmax(x)?.gather(&y.unsqueeze(1)?, 1)?;
        let keep = p.gt(0.0)?.to_dtype(x.dtype())?;
        ((p.maximum(1e-30)?.log()? * &keep)?.sum_all()? / keep.sum_all()?)?.neg()
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
    wrong!("1.2", is_the_mean_over_rows, "The loss is always of f64; it must have the dtype of the logits.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)?.to_dtype(DType::F64)),
    wrong!("1.2", keeps_the_dtype_of_the_logits, "A tensor of f32 is combined with logits of another dtype; convert it with `to_dtype(logits.dtype())`.",
        cross_entropy: |x, y| (x.log_sum_exp(1)?.unsqueeze(1)? * one_hot(x, y)?.to_dtype(DType::F32)?)?.mean_all()),
    wrong!("1.2", keeps_the_dtype_of_the_logits, "A tensor of f32 is combined with logits of another dtype; convert it with `to_dtype(logits.dtype())`.",
        cross_entropy: |x, y| (x * one_hot(x, y)?.to_dtype(DType::F32)?)?.mean_all()),
    wrong!("1.2", keeps_the_dtype_of_the_logits, "The logits are read as f32; convert them with `to_dtype` first, or compute with tensors, which also have a gradient.",
        cross_entropy: |x, _| Tensor::new(x.to_vec2::<f32>()?[0][0], x.device())),
    wrong!("1.3", steps_down_the_gradient, "The step goes along the gradient; the loss decreases in the opposite direction.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w + (g * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "The learning rate is left out.",
        sgd_step: |p, g, _| each(p, g, |w, g| w - g)),
    wrong!("1.3", steps_down_the_gradient, "The gradient is divided by the learning rate; it is multiplied by it.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g / lr)?)),
    wrong!("1.3", steps_down_the_gradient, "Only the sign of the gradient is used; its size matters as well.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g.sign()? * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "The parameter is set to the step; subtract the step from the parameter.",
        sgd_step: |p, g, lr| each(p, g, |_, g| g * -lr)),
    wrong!("1.3", steps_down_the_gradient, "The parameter is set to lr·g; subtract that from the parameter.",
        sgd_step: |p, g, lr| each(p, g, |_, g| g * lr)),
    wrong!("1.3", steps_down_the_gradient, "The parameter is multiplied by the learning rate as well: w − lr·g, not lr·(w − g).",
        sgd_step: |p, g, lr| each(p, g, |w, g| (w - g)? * lr)),
    wrong!("1.3", steps_down_the_gradient, "The parameter is subtracted from the step; it is the other way round.",
        sgd_step: |p, g, lr| each(p, g, |w, g| (g * lr)? - w)),
    wrong!("1.3", steps_down_the_gradient, "The gradient is cut off at ±1; use it as it is.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g.clamp(-1.0, 1.0)? * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "The gradient is scaled to length 1; its size matters as well.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g.broadcast_div(&g.sqr()?.sum_all()?.sqrt()?)? * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "All entries move by the mean of the gradient; each moves by its own.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w.broadcast_sub(&(g.mean_all()? * lr)?))),
    wrong!("1.3", steps_down_the_gradient, "The step is taken twice.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g * (2.0 * lr))?)),
    wrong!("1.3", steps_down_the_gradient, "The step is divided by the number of entries; use the gradient as it is.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g * (lr / g.elem_count() as f64))?)),
    wrong!("1.3", steps_down_the_gradient, "The step is divided by the number of parameters; each one takes the whole step.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g * (lr / p.len() as f64))?)),
    wrong!("1.3", steps_down_the_gradient, "All parameters use the first gradient; each has its own.",
        sgd_step: |p, g, lr| each(p, g, |w, _| w - (&g[0] * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "Parameters and gradients are paired in opposite order.",
        sgd_step: |p, g, lr| p.iter().zip(g.iter().rev()).try_for_each(|(p, g)| p.set(&(p.as_detached_tensor() - (g * lr)?)?))),
    wrong!("1.3", steps_down_the_gradient, "The variable has not changed: store the new value with `param.set(&new)`. A new `Var` is another variable.",
        sgd_step: |p, g, lr| p.iter().zip(g).try_for_each(|(p, g)| (p.as_tensor() - (g * lr)?).map(|_| ()))),
    wrong!("1.3", steps_down_the_gradient, "`set` cannot copy a variable onto itself: pass it a new tensor.",
        sgd_step: |p, _, _| p.iter().try_for_each(|p| p.set(&p.as_detached_tensor()))),
    wrong!("1.3", steps_down_the_gradient, "Only parameters with one axis can be read with `to_vec1`: compute with tensors of any shape.",
        sgd_step: |p, _, _| p.iter().try_for_each(|p| p.to_dtype(DType::F64)?.to_vec1::<f64>().map(|_| ()))),
    wrong!("1.3", steps_down_the_gradient, "Only parameters with one axis can be read with `to_vec1`: compute with tensors of any shape.",
        sgd_step: |p, _, _| p.iter().try_for_each(|p| p.to_vec1::<f32>().map(|_| ()))),
    wrong!("1.3", steps_down_the_gradient, "The new value is flat: `set` requires the shape of the variable.",
        sgd_step: |p, g, lr| p.iter().zip(g).try_for_each(|(p, g)| p.set(&(p.flatten_all()?.detach() - (g.flatten_all()? * lr)?)?))),
    wrong!("1.3", steps_down_the_gradient, "Only the first parameter is changed; change all of them.",
        sgd_step: |p, g, lr| each(&p[..p.len().min(1)], g, |w, g| w - (g * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "Only the last parameter is changed; change all of them.",
        sgd_step: |p, g, lr| each(&p[p.len().max(1) - 1..], &g[p.len().max(1) - 1..], |w, g| w - (g * lr)?)),
    wrong!("1.3", updates_every_parameter, "Parameters are stacked, which requires equal shapes; step them one by one.",
        sgd_step: |p, _, _| Tensor::stack(&p.iter().map(|p| p.as_tensor()).collect::<Vec<_>>(), 0).map(|_| ())),
    wrong!("1.3", updates_every_parameter, "Only parameters with two axes can be read with `to_vec2`: compute with tensors of any shape.",
    sgd_step: |p, g, lr| each(p, g, |w, g| {
        w.to_vec2::<f32>()?;
        w - (g * lr)?
    })),
    wrong!("1.3", updates_every_parameter, "Parameters are taken in pairs, so that the last of an odd number is left out.",
        sgd_step: |p, g, lr| each(&p[..p.len() / 2 * 2], g, |w, g| w - (g * lr)?)),
    wrong!("1.3", updates_every_parameter, "A gradient of 0 ends the function; the parameters after it must still be changed.",
    sgd_step: |p, g, lr| {
        for (p, g) in p.iter().zip(g) {
            if is_zero(g)? {
                return Ok(());
            }
            p.set(&(p.as_detached_tensor() - (g * lr)?)?)?;
        }
        Ok(())
    }),
    wrong!("1.3", computes_in_the_dtype_of_the_parameter, "The step is computed in f32; compute it in the dtype of the parameter.",
    sgd_step: |p, g, lr| each(p, g, |w, g| {
        let new = (w.to_dtype(DType::F32)? - (g.to_dtype(DType::F32)? * lr)?)?;
        new.to_dtype(w.dtype())
    })),
    wrong!("1.3", computes_in_the_dtype_of_the_parameter, "The learning rate is rounded to f32; a number of f64 combines with a tensor of any dtype.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g * f64::from(lr as f32))?)),
    wrong!("1.3", computes_in_the_dtype_of_the_parameter,
        "A tensor of f32 does not combine with a parameter of another dtype. A number does: `grad * lr`.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - g.broadcast_mul(&Tensor::new(lr as f32, g.device())?)?)),
    wrong!("1.3", computes_in_the_dtype_of_the_parameter, "The values are read as f32, and the parameter has another dtype: compute with tensors.",
    sgd_step: |p, g, lr| each(p, g, |w, g| {
        w.flatten_all()?.to_vec1::<f32>()?;
        w - (g * lr)?
    })),
    wrong!("1.3", computes_in_the_dtype_of_the_parameter, "Something is added that the rule does not have, such as weight decay: w − lr·g is all.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - ((g + (w * 1e-4)?)? * lr)?)),
    wrong!("1.4", accumulates_velocity, "The velocity stays 0: store it with `set`, for each parameter and in the first step too. A new `Var` is another variable.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let next = ((v * mu)? + g)?;
        Ok((v.copy()?, (w - (next * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The parameter has not changed: store its new value with `set`.",
    momentum_step: |_, g, v, _, mu| v.iter().zip(g).try_for_each(|(v, g)| v.set(&((v.as_detached_tensor() * mu)? + g)?))),
    wrong!("1.4", first_step_is_plain_sgd, "The gradient is multiplied by 1−μ (that is dampening); here it is added as it is.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + (g * (1.0 - mu))?)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "μ multiplies the new gradient as well: μ·v + g, not μ·(v + g).",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v + g)? * mu)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "μ multiplies the gradient, and not the old velocity: μ·v + g.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = (v + (g * mu)?)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "μ multiplies the gradient and 1−μ the velocity: μ·v + g.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * (1.0 - mu))? + (g * mu)?)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "μ multiplies the step of the parameter as well: w − lr·v.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        Ok((v.clone(), (w - (v * (lr * mu))?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The parameter moves by the old velocity: update the velocity first, then the parameter.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        Ok((((v * mu)? + g)?, (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd,
    "The parameter moves by g + μ·v with the new v, which is Nesterov's momentum. If you meant the old v: a tensor from `as_detached_tensor` shows the new value after `set`.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        let ahead = (g + (&v * mu)?)?;
        Ok((v, (w - (ahead * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The parameter moves by velocity and gradient; the new velocity contains the gradient.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        let both = (&v + g)?;
        Ok((v, (w - (both * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The step goes along the velocity; the loss decreases in the opposite direction: w − lr·v.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        Ok((v.clone(), (w + (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The gradient is subtracted from the velocity, and the velocity from the parameter, which goes uphill: v ← μ·v + g.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? - g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The learning rate is left out.",
    momentum_step: |p, g, v, _, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        Ok((v.clone(), (w - v)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "The learning rate is applied twice, in the velocity and in the step; it belongs to the step.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + (g * lr)?)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "Only the first parameter is changed; change all of them.",
    momentum_step: |p, g, v, lr, mu| moved(&p[..p.len().min(1)], g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "All parameters share the first velocity; each has its own.",
    momentum_step: |p, g, v, lr, mu| p.iter().zip(g).try_for_each(|(p, g)| {
        moved(std::slice::from_ref(p), std::slice::from_ref(g), v, |w, g, v| {
            let v = ((v * mu)? + g)?;
            Ok((v.clone(), (w - (v * lr)?)?))
        })
    })),
    wrong!("1.4", accumulates_velocity, "The old velocity is not multiplied by μ.",
    momentum_step: |p, g, v, lr, _| moved(p, g, v, |w, g, v| {
        let v = (v + g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", accumulates_velocity, "μ is always 0.9; use `momentum`.",
    momentum_step: |p, g, v, lr, _| moved(p, g, v, |w, g, v| {
        let v = ((v * 0.9)? + g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", accumulates_velocity, "The velocity is updated, but the parameter moves by the gradient alone: w − lr·v.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        Ok((((v * mu)? + g)?, (w - (g * lr)?)?))
    })),
    wrong!("1.4", accumulates_velocity, "Where the gradient changes its sign, the velocity starts anew; the rule keeps μ·v.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let same = (v * g)?.ge(0.0)?.to_dtype(g.dtype())?;
        let v = (((v * same)? * mu)? + g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", stores_the_velocity,
    "The learning rate is inside the velocity, so that an old rate stays in it; multiply by the rate in the step.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + (g * lr)?)?;
        Ok((v.clone(), (w - v)?))
    })),
    wrong!("1.4", stores_the_velocity,
    "The learning rate is inside the velocity, and its sign is turned: v ← μ·v + g, then w ← w − lr·v.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? - (g * lr)?)?;
        Ok((v.clone(), (w + v)?))
    })),
    wrong!("1.4", stores_the_velocity, "The velocity has the opposite sign: v ← μ·v + g, then w ← w − lr·v.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? - g)?;
        Ok((v.clone(), (w + (v * lr)?)?))
    })),
    wrong!("1.4", stores_the_velocity, "The velocity is stored times μ: store v itself, and multiply by μ in the next step.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = (v + g)?;
        Ok(((&v * mu)?, (w - (v * lr)?)?))
    })),
    wrong!("1.4", excludes_the_learning_rate_from_the_velocity, "Nothing is done if the learning rate is 0; the velocity must still be updated.",
    momentum_step: |p, g, v, lr, mu| if lr == 0.0 { Ok(()) } else { (REFERENCE.momentum_step)(p, g, v, lr, mu) }),
    wrong!("1.4", moves_on_without_a_gradient, "A gradient of 0 skips the parameter, or ends the function; the velocity still moves the parameter, and falls.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        if is_zero(g)? {
            return Ok((v.copy()?, w.copy()?));
        }
        let v = ((v * mu)? + g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", uses_the_current_momentum, "With μ = 0 the velocity is not updated; it is then the gradient.",
    momentum_step: |p, g, v, lr, mu| if mu == 0.0 { (REFERENCE.sgd_step)(p, g, lr) } else { (REFERENCE.momentum_step)(p, g, v, lr, mu) }),
    wrong!("1.4", keeps_the_dtype_of_the_velocity, "The step is computed in f32; compute it in the dtype of the parameter.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let f = |t: &Tensor| t.to_dtype(DType::F32);
        let v = ((f(v)? * mu)? + f(g)?)?;
        Ok((v.to_dtype(w.dtype())?, (f(w)? - (v * lr)?)?.to_dtype(w.dtype())?))
    })),
    wrong!("1.4", keeps_the_dtype_of_the_velocity, "lr or μ is rounded to f32; a number of f64 combines with a tensor of any dtype.",
    momentum_step: |p, g, v, lr, mu| (REFERENCE.momentum_step)(p, g, v, lr, f64::from(mu as f32))),
    wrong!("1.4", keeps_the_dtype_of_the_velocity, "lr or μ is rounded to f32; a number of f64 combines with a tensor of any dtype.",
    momentum_step: |p, g, v, lr, mu| (REFERENCE.momentum_step)(p, g, v, f64::from(lr as f32), f64::from(mu as f32))),
    wrong!("1.4", keeps_the_dtype_of_the_velocity,
        "A tensor of f32 does not combine with a parameter of another dtype. A number does: `grad * lr`.",
        momentum_step: |p, _, _, lr, _| p.iter().try_for_each(|p| p.as_detached_tensor().broadcast_mul(&Tensor::new(lr as f32, p.device())?).map(|_| ()))),
    wrong!("1.4", keeps_the_dtype_of_the_velocity, "The values are read as f32, and the parameter has another dtype: compute with tensors.",
        momentum_step: |p, _, _, _, _| p.iter().try_for_each(|p| p.flatten_all()?.to_vec1::<f32>().map(|_| ()))),
    adam!(first_step_has_size_lr, "Neither mean is bias-corrected (both start at 0).",
        next: |a| a.corrected(1.0, 1.0)),
    adam!(first_step_has_size_lr, "The mean of the squares is not bias-corrected (it starts at 0).",
        next: |a| a.corrected(a.first(), 1.0)),
    adam!(first_step_has_size_lr, "The mean of the gradients is not bias-corrected (it starts at 0).",
        next: |a| a.corrected(1.0, a.second())),
    adam!(first_step_has_size_lr, "Both means are multiplied by the bias corrections; divide by them.",
        next: |a| a.corrected(1.0 / a.first(), 1.0 / a.second())),
    adam!(first_step_has_size_lr, "The bias corrections divide by βᵗ; divide by 1 − βᵗ.",
        next: |a| a.corrected(1.0 - a.first(), 1.0 - a.second())),
    adam!(first_step_has_size_lr, "β₁ and β₂ are swapped in the bias corrections.",
        next: |a| a.corrected(a.second(), a.first())),
    adam!(first_step_has_size_lr, "The mean of the squares is corrected after the root; correct it before: √(v/(1−β₂ᵗ)).",
        next: |a| a.step((&a.m / a.first())?, ((a.v.sqrt()? / a.second())? + a.c.eps)?)),
    adam!(first_step_has_size_lr, "The root of v̂ is left out.",
        next: |a| a.step((&a.m / a.first())?, ((&a.v / a.second())? + a.c.eps)?)),
    adam!(first_step_has_size_lr, "The step is multiplied by √v̂; divide by it.",
        next: |a| a.step(((&a.m / a.first())? * a.root()?)?, a.v.ones_like()?)),
    adam!(first_step_has_size_lr, "The step is added; subtract it.",
        next: |a| &a.w + (((&a.m / a.first())? / (a.root()? + a.c.eps)?)? * a.lr)?),
    adam!(first_step_has_size_lr, "The learning rate is left out.",
        next: |a| &a.w - ((&a.m / a.first())? / (a.root()? + a.c.eps)?)?),
    adam!(first_step_has_size_lr, "The parameter has not changed: store its new value with `set`. A new `Var` is another variable.",
        next: |a| a.w.copy()),
    adam!(first_step_has_size_lr, "v is a mean of |g|; it should be a mean of g².",
        square: |a| (&a.v * a.c.beta2)? + (a.g.abs()? * (1.0 - a.c.beta2))?),
    adam!(first_step_has_size_lr, "v is a mean of g; it should be a mean of g².",
        square: |a| (&a.v * a.c.beta2)? + (a.g * (1.0 - a.c.beta2))?),
    adam!(first_step_has_size_lr, "v is a mean of m²; it should be a mean of g².",
        square: |a| (&a.v * a.c.beta2)? + (a.m.sqr()? * (1.0 - a.c.beta2))?),
    adam!(first_step_has_size_lr, "1−β₂ is squared with the gradient; v is (1−β₂)·g².",
        square: |a| (&a.v * a.c.beta2)? + (a.g * (1.0 - a.c.beta2))?.sqr()?),
    adam!(first_step_has_size_lr, "All entries share one mean of squares; each has its own.",
        square: |a| (&a.v * a.c.beta2)? + (a.g.sqr()?.mean_all()?.broadcast_as(a.g.shape())? * (1.0 - a.c.beta2))?),
    adam!(first_step_has_size_lr, "The factor 1−β₁ of the gradient is left out of m.",
        mean: |a| (&a.m * a.c.beta1)? + a.g),
    adam!(first_step_has_size_lr, "The factor 1−β₂ of the squared gradient is left out of v.",
        square: |a| (&a.v * a.c.beta2)? + a.g.sqr()?),
    adam!(first_step_has_size_lr, "The factors 1−β₁ and 1−β₂ of the new values are left out.",
        mean: |a| (&a.m * a.c.beta1)? + a.g,
        square: |a| (&a.v * a.c.beta2)? + a.g.sqr()?),
    adam!(first_step_has_size_lr, "β and 1−β are swapped: β multiplies the old mean, and 1−β the new value.",
        mean: |a| (&a.m * (1.0 - a.c.beta1))? + (a.g * a.c.beta1)?,
        square: |a| (&a.v * (1.0 - a.c.beta2))? + (a.g.sqr()? * a.c.beta2)?),
    adam!(first_step_has_size_lr,
    "The gradient enters m̂ twice, as in NAdam. If you wrote it once: a tensor from `as_detached_tensor` shows the new mean after `set`.",
    next: |a| {
        let ahead = ((&a.m * a.c.beta1)? + (a.g * (1.0 - a.c.beta1))?)?;
        a.step((ahead / a.first())?, (a.root()? + a.c.eps)?)
    }),
    adam!(first_step_has_size_lr,
    "The squared gradient enters v̂ twice: a tensor from `as_detached_tensor` shows the new mean after `set`.",
    next: |a| {
        let ahead = ((&a.v * a.c.beta2)? + (a.g.sqr()? * (1.0 - a.c.beta2))?)?;
        a.step((&a.m / a.first())?, ((ahead / a.second())?.sqrt()? + a.c.eps)?)
    }),
    adam!(first_step_has_size_lr,
    "Both means take the gradient twice: a tensor from `as_detached_tensor` shows the new mean after `set`.",
    next: |a| {
        let m = ((&a.m * a.c.beta1)? + (a.g * (1.0 - a.c.beta1))?)?;
        let v = ((&a.v * a.c.beta2)? + (a.g.sqr()? * (1.0 - a.c.beta2))?)?;
        a.step((m / a.first())?, ((v / a.second())?.sqrt()? + a.c.eps)?)
    }),
    adam!(first_step_has_size_lr, "The step is computed from the old means: update both first.",
    next: |a| {
        let [m, v] = &a.old;
        a.step((m / a.first())?, ((v / a.second())?.sqrt()? + a.c.eps)?)
    }),
    adam!(first_step_has_size_lr, "The step is counted too late: t is 0 in the first step, which divides by 0.",
        time: |step, _| step),
    adam!(first_step_has_size_lr, "t is one too large: it is 1 in the first step, and `state.step` counts up to it.",
        time: |step, _| step + 2),
    adam!(first_step_has_size_lr, "The step is counted once for each parameter; count it once for all.",
        time: |step, i| step + 1 + i as u64, counts: |n| n as u64),
    wrong!("1.5", first_step_has_size_lr, "Only the first parameter is changed; change all of them.",
        adam_step: |p, g, s, lr, c| twisted(&p[..p.len().min(1)], g, s, lr, c, ADAM)),
    adam!(first_step_has_size_lr, "Weight decay is added, which the rule does not have: ignore the other fields of `config`.",
        next: |a| a.corrected(a.first(), a.second())? - (&a.w * (0.01 * a.lr))?),
    wrong!("1.5", first_step_has_size_lr, "All parameters use the first mean and square; each has its own.",
    adam_step: |p, g, s, lr, c| {
        let step = s.step;
        for (p, g) in p.iter().zip(g) {
            s.step = step;
            twisted(std::slice::from_ref(p), std::slice::from_ref(g), s, lr, c, ADAM)?;
        }
        Ok(())
    }),
    adam!(corrects_the_bias_of_both_means, "t is 1 in every step: the step is not counted in `state.step`.",
        counts: |_| 0),
    adam!(corrects_the_bias_of_both_means, "The bias correction is 1 − β in every step; it is 1 − βᵗ, and t is `state.step`, after it was counted.",
        time: |_, _| 1),
    adam!(corrects_the_bias_of_both_means, "β₁ and β₂ are swapped.",
        mean: |a| (&a.m * a.c.beta2)? + (a.g * (1.0 - a.c.beta2))?,
        square: |a| (&a.v * a.c.beta1)? + (a.g.sqr()? * (1.0 - a.c.beta1))?,
        next: |a| a.corrected(a.second(), a.first())),
    adam!(corrects_the_bias_of_both_means, "β₁ and β₂ are always 0.9 and 0.999; use those of `config`.",
        mean: |a| (&a.m * 0.9)? + (a.g * 0.1)?,
        square: |a| (&a.v * 0.999)? + (a.g.sqr()? * 0.001)?,
        next: |a| a.corrected(1.0 - 0.9f64.powf(a.t), 1.0 - 0.999f64.powf(a.t))),
    adam!(corrects_the_bias_of_both_means, "The bias correction multiplies by t; β is raised to the power t: 1 − β.powf(t).",
        next: |a| a.corrected((1.0 - a.c.beta1) * a.t, (1.0 - a.c.beta2) * a.t)),
    adam!(corrects_the_bias_of_both_means, "The bias correction multiplies by t; β is raised to the power t: 1 − β.powf(t).",
        next: |a| a.corrected(1.0 - a.c.beta1 * a.t, 1.0 - a.c.beta2 * a.t)),
    adam!(corrects_the_bias_of_both_means, "The bias correction raises 1−β to the power t; it is 1 − βᵗ.",
        next: |a| a.corrected((1.0 - a.c.beta1).powf(a.t), (1.0 - a.c.beta2).powf(a.t))),
    adam!(corrects_the_bias_of_both_means, "The corrected means are stored, and corrected again in the next step; store m and v as they are.",
        mean: |a| ((&a.m * a.c.beta1)? + (a.g * (1.0 - a.c.beta1))?)? / a.first(),
        square: |a| ((&a.v * a.c.beta2)? + (a.g.sqr()? * (1.0 - a.c.beta2))?)? / a.second(),
        next: |a| a.corrected(1.0, 1.0)),
    adam!(corrects_the_bias_of_both_means, "The means are not stored: store them in their variables with `set`.",
        keeps: [false, false]),
    adam!(corrects_the_bias_of_both_means, "The mean of the gradients is not stored: store it with `set`.",
        keeps: [false, true]),
    adam!(corrects_the_bias_of_both_means, "The mean of the squares is not stored: store it with `set`.",
        keeps: [true, false]),
    adam!(corrects_the_bias_of_both_means, "The step uses the gradient in place of its mean m̂ (that is RMSprop).",
        next: |a| a.step(a.g.clone(), (a.root()? + a.c.eps)?)),
    adam!(corrects_the_bias_of_both_means, "The step divides by the gradient's own size; divide by the root of v̂.",
        next: |a| a.step((&a.m / a.first())?, (a.g.abs()? + a.c.eps)?)),
    adam!(updates_the_means_without_a_gradient, "v keeps the greatest value so far (that is AMSGrad); it is a mean.",
        square: |a| a.v.maximum(&((&a.v * a.c.beta2)? + (a.g.sqr()? * (1.0 - a.c.beta2))?)?)),
    adam!(corrects_the_bias_of_both_means, "v adds up all squares, as in Adagrad; multiply the old v by β₂.",
        square: |a| &a.v + (a.g.sqr()? * (1.0 - a.c.beta2))?),
    adam!(stores_both_means, "The learning rate is inside m; multiply by it in the step.",
        mean: |a| (&a.m * a.c.beta1)? + (a.g * (a.lr * (1.0 - a.c.beta1)))?,
        next: |a| &a.w - ((&a.m / a.first())? / (a.root()? + a.c.eps)?)?),
    adam!(adds_epsilon_after_the_root, "ε is added inside the root; add it to the root.",
        next: |a| a.step((&a.m / a.first())?, ((&a.v / a.second())? + a.c.eps)?.sqrt()?)),
    adam!(adds_epsilon_after_the_root, "ε is added before the bias correction of v, and is corrected with it.",
        next: |a| a.step((&a.m / a.first())?, ((a.v.sqrt()? + a.c.eps)? / a.second().sqrt())?)),
    adam!(adds_epsilon_after_the_root, "ε is added to the quotient; it belongs to the denominator: m̂/(√v̂ + ε).",
        next: |a| &a.w - ((((&a.m / a.first())? / a.root()?)? + a.c.eps)? * a.lr)?),
    adam!(adds_epsilon_after_the_root, "ε is left out.",
        next: |a| a.step((&a.m / a.first())?, a.root()?)),
    adam!(adds_epsilon_after_the_root, "ε is always 1e-8; use that of `config`.",
        next: |a| a.step((&a.m / a.first())?, (a.root()? + 1e-8)?)),
    adam!(adds_epsilon_after_the_root, "ε is squared, or added to v before the root; add it to the root.",
        next: |a| a.step((&a.m / a.first())?, ((&a.v / a.second())? + a.c.eps * a.c.eps)?.sqrt()?)),
    adam!(adds_epsilon_after_the_root, "The root is replaced by ε where it is smaller; add ε to it.",
        next: |a| a.step((&a.m / a.first())?, a.root()?.maximum(a.c.eps)?)),
    adam!(updates_the_means_without_a_gradient, "A parameter without a gradient is skipped; its means must fall, and its m̂ still moves it.",
        mean: |a| if is_zero(a.g)? { a.m.copy() } else { (ADAM.mean)(a) },
        square: |a| if is_zero(a.g)? { a.v.copy() } else { (ADAM.square)(a) },
        next: |a| if is_zero(a.g)? { a.w.copy() } else { (ADAM.next)(a) }),
    adam!(keeps_the_dtype_of_the_means, "The step is computed in f32; compute it in the dtype of the parameter.",
        mean: |a| a.in_f32(ADAM.mean),
        square: |a| a.in_f32(ADAM.square),
        next: |a| a.in_f32(ADAM.next)),
    adam!(keeps_the_dtype_of_the_means, "The bias corrections are computed in f32, where 1 − 0.999 has few digits; compute them in f64.",
    next: |a| {
        let of = |beta: f64| f64::from(1.0 - (beta as f32).powf(a.t as f32));
        a.corrected(of(a.c.beta1), of(a.c.beta2))
    }),
    adam!(keeps_the_dtype_of_the_means, "A tensor of f32 does not combine with a parameter of another dtype. A number does: `grad * lr`.",
        mean: |a| a.m.broadcast_mul(&Tensor::new(a.c.beta1 as f32, a.g.device())?)),
    adam!(keeps_the_dtype_of_the_means, "The values are read as f32, and the parameter has another dtype: compute with tensors.",
    mean: |a| {
        a.g.flatten_all()?.to_vec1::<f32>()?;
        (ADAM.mean)(a)
    }),
    wrong!("1.6", counts_the_last_batch, "The last batch is always dropped: whole-number division rounds down.",
        iterations: |n, size, drop| if drop && n > 0 { (n / size).max(1) } else { n / size }),
    wrong!("1.6", counts_the_last_batch, "The last batch is always dropped: whole-number division rounds down.",
        iterations: |n, size, _| n / size),
    wrong!("1.6", counts_the_last_batch, "The last batch is always dropped: whole-number division rounds down.",
        iterations: |n, size, _| if n > 0 { (n / size).max(1) } else { 0 }),
    wrong!("1.6", counts_the_last_batch, "There is one step too many if the last batch is full.",
        iterations: |n, size, drop| if drop { (REFERENCE.iterations)(n, size, drop) } else { n / size + 1 }),
    wrong!("1.6", counts_the_last_batch, "There is one step too many if the last batch is full.",
        iterations: |n, size, drop| n / size + usize::from(!drop)),
    wrong!("1.6", counts_the_last_batch, "`drop_last` is inverted.",
        iterations: |n, size, drop| (REFERENCE.iterations)(n, size, !drop)),
    wrong!("1.6", counts_the_last_batch, "`drop_last` is inverted.",
        iterations: |n, size, drop| if drop { n.div_ceil(size) } else { n / size }),
    wrong!("1.6", counts_the_last_batch, "The number of batches is rounded to the nearest; it is rounded up, or down.",
        iterations: |n, size, drop| if drop { (REFERENCE.iterations)(n, size, drop) } else { (n + size / 2) / size }),
    wrong!("1.6", counts_the_last_batch, "The rest is counted in records; it is one batch.",
        iterations: |n, size, drop| if drop && n >= size { n / size } else { n / size + n % size }),
    wrong!("1.6", counts_the_last_batch, "The last batch is dropped without `drop_last` if it has a single record.",
        iterations: |n, size, drop| if !drop && n > size && n % size == 1 { n / size } else { (REFERENCE.iterations)(n, size, drop) }),
    wrong!("1.6", counts_the_last_batch, "The batch size is always 16; use `batch`.",
        iterations: |n, _, drop| (REFERENCE.iterations)(n, 16, drop)),
    wrong!("1.6", counts_the_last_batch, "This is the number of records in full batches; return the number of batches.",
        iterations: |n, size, drop| if drop && n >= size { n / size * size } else { n }),
    wrong!("1.6", drops_only_an_incomplete_batch, "`drop_last` is ignored.",
        iterations: |n, size, _| n.div_ceil(size)),
    wrong!("1.6", drops_only_an_incomplete_batch, "A last batch that is full is dropped as well.",
    iterations: |n, size, drop| {
        let all = n.div_ceil(size);
        if drop && all > 1 { all - 1 } else { all }
    }),
    wrong!("1.6", drops_only_an_incomplete_batch, "A last batch that is full is dropped as well.",
        iterations: |n, size, drop| n.div_ceil(size) - usize::from(drop && n > 0)),
    wrong!("1.6", drops_only_an_incomplete_batch, "A last batch is dropped only if it is less than half full; drop it if it is not full.",
    iterations: |n, size, drop| {
        let keeps = n % size > 0 && (!drop || n < size || n % size * 2 >= size);
        n / size + usize::from(keeps)
    }),
    wrong!("1.6", keeps_the_only_batch, "The only batch is dropped if it is not full; an epoch must not be empty.",
        iterations: |n, size, drop| if drop { n / size } else { n.div_ceil(size) }),
    wrong!("1.6", drops_only_an_incomplete_batch, "One batch is kept too many: with a full batch before it, the last one is dropped.",
        iterations: |n, size, drop| if drop && n >= 2 * size { n / size } else { n.div_ceil(size) }),
    wrong!("1.6", counts_the_last_batch, "A data set of one full batch is counted twice: it is not smaller than a batch.",
    iterations: |n, size, drop| if n == size { 1 + usize::from(!drop) } else { (REFERENCE.iterations)(n, size, drop) }),
    wrong!("1.6", has_no_step_without_records, "There is a step without records.",
        iterations: |n, size, drop| (REFERENCE.iterations)(n, size, drop).max(1)),
    wrong!("1.6", has_no_step_without_records, "There is a step without records.",
        iterations: |n, size, drop| if drop { (n / size).max(1) } else { n.div_ceil(size) }),
    wrong!("1.6", has_no_step_without_records, "There is a step without records.",
        iterations: |n, size, drop| if drop || n < size { (n / size).max(1) } else { n.div_ceil(size) }),
    wrong!("1.6", has_no_step_without_records, "`records - 1` underflows if there are none: use `div_ceil`.",
        iterations: |n, size, drop| if drop && n >= size { n / size } else { (n - 1) / size + 1 }),
    wrong!("1.6", is_exact_for_millions_of_records, "f32 has 24 bits, which rounds large numbers of records: divide whole numbers, with `div_ceil`.",
    iterations: |n, size, drop| {
        let batches = n as f32 / size as f32;
        (if drop && n >= size { batches.floor() } else { batches.ceil() }) as usize
    }),
];
