//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

use candle_core::{D, IndexOp};
use grader::{Mistake, wrong};

use crate::{Lesson01, REFERENCE, answer_helpers::*};

pub const MISTAKES: &[Mistake<Lesson01>] = &[
    wrong!("1.1", adds_the_bias_once, "The bias is left out.",
        neuron: |x, w, _, f| f(dot(x, w))),
    wrong!("1.1", adds_the_bias_once, "The bias is added once for each input, inside the sum.",
        neuron: |x, w, b, f| f(x.iter().zip(w).map(|(x, w)| x * w + b).sum())),
    wrong!("1.1", adds_the_bias_once, "The bias is subtracted; it should be added.",
        neuron: |x, w, b, f| f(dot(x, w) - b)),
    wrong!("1.1", applies_the_activation_last, "The activation is never applied.",
        neuron: |x, w, b, _| dot(x, w) + b),
    wrong!("1.1", applies_the_activation_last, "The activation is applied before the bias is added; it comes last.",
        neuron: |x, w, b, f| f(dot(x, w)) + b),
    wrong!("1.1", applies_the_activation_last, "The activation is applied to each product; apply it to the whole sum.",
        neuron: |x, w, b, f| x.iter().zip(w).map(|(x, w)| f(x * w)).sum::<f32>() + f(b)),
    wrong!("1.1", applies_the_activation_last, "The activation is always ReLU; use the one that is passed in.",
        neuron: |x, w, b, _| (dot(x, w) + b).max(0.0)),
    wrong!("1.1", sums_weights_times_inputs, "Weights and inputs are paired in opposite order.",
        neuron: |x, w, b, f| f(x.iter().rev().zip(w).map(|(x, w)| x * w).sum::<f32>() + b)),
    wrong!("1.1", sums_weights_times_inputs, "The sum is divided by the number of inputs; it is not a mean.",
        neuron: |x, w, b, f| f(dot(x, w) / x.len().max(1) as f32 + b)),
    wrong!("1.1", accepts_any_number_of_inputs, "The first product is used although there may be none: start the sum at 0.",
        neuron: |x, w, b, f| f(x[0] * w[0] + dot(&x[1..], &w[1..]) + b)),
    wrong!("1.2", is_the_mean_over_rows, "The loss is summed over the rows; take their mean.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)? * y.elem_count() as f64),
    wrong!("1.2", is_the_mean_over_rows, "The sign is wrong: the loss is minus the log of the probability.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)?.neg()),
    wrong!("1.2", is_the_mean_over_rows, "Every row uses the label of the first row; each row has its own.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, &y.i(..1)?.broadcast_as(y.shape())?.contiguous()?)),
    wrong!("1.2", is_the_mean_over_rows, "The loss is divided by rows times classes; divide by the rows.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)? / x.dim(1)? as f64),
    wrong!("1.2", is_the_mean_over_rows, "There is one loss for each row; return their mean, one number.",
    cross_entropy: |x, y| {
        let loss = x.log_sum_exp(1)?.unsqueeze(1)? - x.gather(&y.unsqueeze(1)?, 1)?;
        loss?.squeeze(1)
    }),
    wrong!("1.2", is_the_mean_over_rows,
    "`-` requires equal shapes: the sum over classes lost its dimension. Keep it ([rows, 1]: unsqueeze, or sum_keepdim) and broadcast.",
    cross_entropy: |x, y| picked(&(x - x.log_sum_exp(1)?)?, y)),
    wrong!("1.2", is_the_mean_over_rows,
    "Shapes are broadcast from their last dimension: [rows] does not match [rows, classes]. Keep the summed dimension ([rows, 1]).",
    cross_entropy: |x, y| picked(&x.broadcast_sub(&x.log_sum_exp(1)?)?, y)),
    wrong!("1.2", is_the_mean_over_rows, "The log is left out: this is minus the probability.",
    cross_entropy: |x, y| {
        let e = x.exp()?;
        picked(&e.broadcast_div(&e.sum_keepdim(1)?)?, y)
    }),
    wrong!("1.2", stays_finite_for_huge_logits,
        "exp overflows for large logits: subtract the greatest logit of each row first, and add it to the log afterwards.",
        cross_entropy: |x, y| picked(&x.broadcast_sub(&x.exp()?.sum_keepdim(1)?.log()?)?, y)),
    wrong!("1.2", stays_finite_for_huge_logits,
    "The same greatest logit is subtracted from all rows; a row far below it underflows to log 0. Each row has its own.",
    cross_entropy: |x, y| {
        let top = x.flatten_all()?.max(0)?;
        let low = x.broadcast_sub(&top)?;
        picked(&low.broadcast_sub(&low.exp()?.sum_keepdim(1)?.log()?)?, y)
    }),
    wrong!("1.2", stays_exact_for_tiny_probabilities,
    "The log is taken of a softmax that was rounded to 0. Do not compute the probability: subtract the log of the sum.",
    cross_entropy: |x, y| {
        let e = x.broadcast_sub(&x.max_keepdim(D::Minus1)?)?.exp()?;
        picked(&e.broadcast_div(&e.sum_keepdim(1)?)?.log()?, y)
    }),
    wrong!("1.2", has_the_right_gradient,
        "The logits were detached, or converted to numbers: no gradient reaches them.",
        cross_entropy: |x, y| REFERENCE_LOSS(&x.detach(), y)),
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
    wrong!("1.3", updates_every_parameter, "The new value is computed and dropped: store it in the variable with `set`.",
    sgd_step: |p, g, lr| p.iter().zip(g).try_for_each(|(p, g)| {
        (p.as_tensor() - (g * lr)?).map(|_| ())
    })),
    wrong!("1.3", updates_every_parameter, "Only the first parameter is changed; change all of them.",
        sgd_step: |p, g, lr| each(&p[..1], g, |w, g| w - (g * lr)?)),
    wrong!("1.4", accumulates_velocity, "The velocity is never stored: store it in its variable with `set`.",
        momentum_step: |p, g, _, lr, _| each(p, g, |w, g| w - (g * lr)?)),
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
    wrong!("1.4", first_step_is_plain_sgd, "The parameter moves by the old velocity: update the velocity first, then the parameter.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        Ok((((v * mu)? + g)?, (w - (v * lr)?)?))
    })),
    wrong!("1.4", first_step_is_plain_sgd, "This is Nesterov's momentum, which looks ahead by μ·v; the exercise is plain momentum.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        let ahead = (g + (&v * mu)?)?;
        Ok((v, (w - (ahead * lr)?)?))
    })),
    wrong!("1.4", accumulates_velocity, "The old velocity is not multiplied by μ.",
    momentum_step: |p, g, v, lr, _| moved(p, g, v, |w, g, v| {
        let v = (v + g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", excludes_the_learning_rate_from_the_velocity,
    "The learning rate is inside the velocity, so that an old rate stays in it; multiply by the rate in the step.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + (g * lr)?)?;
        Ok((v.clone(), (w - v)?))
    })),
    wrong!("1.5", first_step_has_size_lr, "Neither mean is bias-corrected (both start at 0).",
    adam_step: |p, g, s, lr, c| {
        twisted(p, g, s, lr, c, Twist { correct_mean: false, correct_square: false, ..ADAM })
    }),
    wrong!("1.5", first_step_has_size_lr, "The mean of the squares is not bias-corrected (it starts at 0).",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { correct_square: false, ..ADAM })),
    wrong!("1.5", first_step_has_size_lr, "The mean of the gradients is not bias-corrected (it starts at 0).",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { correct_mean: false, ..ADAM })),
    wrong!("1.5", first_step_has_size_lr, "The root of v̂ is left out.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { root: false, ..ADAM })),
    wrong!("1.5", first_step_has_size_lr, "v is a mean of |g|; it should be a mean of g².",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { squared: false, ..ADAM })),
    wrong!("1.5", first_step_has_size_lr, "The step is counted too late: t is 0 in the first step, which divides by 0.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { late_count: true, ..ADAM })),
    wrong!("1.5", corrects_the_bias_of_both_means, "β₁ and β₂ are swapped.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { swapped: true, ..ADAM })),
    wrong!("1.5", counts_the_steps, "The step is counted once for each parameter; count it once for all.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { count_each: true, ..ADAM })),
    wrong!("1.5", stores_both_means, "The means are not stored: store them in their variables with `set`.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { keeps: false, ..ADAM })),
    wrong!("1.5", adds_epsilon_after_the_root, "ε is added inside the root; add it to the root.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { eps_inside: true, ..ADAM })),
    wrong!("1.5", adds_epsilon_after_the_root, "ε is added before the bias correction of v, and is corrected with it.",
    adam_step: |p, g, s, lr, c| {
        twisted(p, g, s, lr, c, Twist { eps_before_correction: true, ..ADAM })
    }),
    wrong!("1.6", counts_the_last_batch, "The last batch is always dropped: whole-number division rounds down.",
        iterations: |n, size, drop| if drop && n > 0 { (n / size).max(1) } else { n / size }),
    wrong!("1.6", counts_the_last_batch, "There is one step too many if the last batch is full.",
        iterations: |n, size, drop| if drop { (REFERENCE.iterations)(n, size, drop) } else { n / size + 1 }),
    wrong!("1.6", drops_only_an_incomplete_batch, "`drop_last` is ignored.",
        iterations: |n, size, _| n.div_ceil(size)),
    wrong!("1.6", drops_only_an_incomplete_batch, "A last batch that is full is dropped as well.",
    iterations: |n, size, drop| {
        let all = n.div_ceil(size);
        if drop && all > 1 { all - 1 } else { all }
    }),
    wrong!("1.6", keeps_the_only_batch, "The only batch is dropped if it is not full; an epoch must not be empty.",
        iterations: |n, size, drop| if drop { n / size } else { n.div_ceil(size) }),
    wrong!("1.6", has_no_step_without_records, "There is a step without records.",
        iterations: |n, size, drop| (REFERENCE.iterations)(n, size, drop).max(1)),
    wrong!("1.6", keeps_the_only_batch, "`drop_last` is inverted.",
        iterations: |n, size, drop| if drop { n.div_ceil(size) } else { n / size }),
];
