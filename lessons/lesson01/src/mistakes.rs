//! Known wrong answers with the cause a student is told.

use candle_core::{D, IndexOp};
use grader::{Mistake, wrong};

use crate::{Lesson01, REFERENCE, parts::*};

pub const MISTAKES: &[Mistake<Lesson01>] = &[
    wrong!("1.1", adds_the_bias_once, "The bias is left out.",
        neuron: |x, w, _, f| f(dot(x, w))),
    wrong!("1.1", adds_the_bias_once, "The bias is added once for each input, inside the sum.",
        neuron: |x, w, b, f| f(x.iter().zip(w).map(|(x, w)| x * w + b).sum())),
    wrong!("1.1", adds_the_bias_once, "The bias is taken away, not added.",
        neuron: |x, w, b, f| f(dot(x, w) - b)),
    wrong!("1.1", applies_the_activation_last, "The activation is never applied.",
        neuron: |x, w, b, _| dot(x, w) + b),
    wrong!("1.1", applies_the_activation_last, "The activation is applied before the bias is added; it comes last.",
        neuron: |x, w, b, f| f(dot(x, w)) + b),
    wrong!("1.1", applies_the_activation_last, "The activation is applied to each product; it takes the whole sum.",
        neuron: |x, w, b, f| x.iter().zip(w).map(|(x, w)| f(x * w)).sum::<f32>() + f(b)),
    wrong!("1.1", applies_the_activation_last, "The activation is always ReLU; it is the one that is given.",
        neuron: |x, w, b, _| (dot(x, w) + b).max(0.0)),
    wrong!("1.1", adds_up_weights_times_inputs, "Weights and inputs are paired in opposite order.",
        neuron: |x, w, b, f| f(x.iter().rev().zip(w).map(|(x, w)| x * w).sum::<f32>() + b)),
    wrong!("1.1", adds_up_weights_times_inputs, "The sum is divided by the number of inputs; it is no mean.",
        neuron: |x, w, b, f| f(dot(x, w) / x.len().max(1) as f32 + b)),
    wrong!("1.1", takes_any_number_of_inputs, "The first product is counted though there may be none: start the sum at 0.",
        neuron: |x, w, b, f| f(x[0] * w[0] + dot(&x[1..], &w[1..]) + b)),
    wrong!("1.2", is_the_mean_over_rows, "The loss is summed over the rows; it is their mean.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)? * y.elem_count() as f64),
    wrong!("1.2", is_the_mean_over_rows, "The sign is turned: the loss is minus the log of the probability.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)?.neg()),
    wrong!("1.2", is_the_mean_over_rows, "Every row is judged by the first row's label; each has its own.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, &y.i(..1)?.broadcast_as(y.shape())?.contiguous()?)),
    wrong!("1.2", is_the_mean_over_rows, "The loss is divided by rows times classes; divide by the rows.",
        cross_entropy: |x, y| REFERENCE_LOSS(x, y)? / x.dim(1)? as f64),
    wrong!("1.2", is_the_mean_over_rows, "There is one loss for each row; give their mean, one number.",
    cross_entropy: |x, y| {
        let loss = x.log_sum_exp(1)?.unsqueeze(1)? - x.gather(&y.unsqueeze(1)?, 1)?;
        loss?.squeeze(1)
    }),
    wrong!("1.2", is_the_mean_over_rows,
    "`-` wants equal shapes: the sum over classes lost its dimension. Keep it ([rows, 1]: unsqueeze, or sum_keepdim) and broadcast.",
    cross_entropy: |x, y| picked(&(x - x.log_sum_exp(1)?)?, y)),
    wrong!("1.2", is_the_mean_over_rows,
    "Shapes are matched from their last dimension: [rows] does not go along [rows, classes]. Keep the summed dimension ([rows, 1]).",
    cross_entropy: |x, y| picked(&x.broadcast_sub(&x.log_sum_exp(1)?)?, y)),
    wrong!("1.2", is_the_mean_over_rows, "The log is left out: this is minus the probability.",
    cross_entropy: |x, y| {
        let e = x.exp()?;
        picked(&e.broadcast_div(&e.sum_keepdim(1)?)?, y)
    }),
    wrong!("1.2", stays_finite_for_huge_logits,
        "exp overflows for large logits: take each row's greatest logit off first, and add it to the log after.",
        cross_entropy: |x, y| picked(&x.broadcast_sub(&x.exp()?.sum_keepdim(1)?.log()?)?, y)),
    wrong!("1.2", stays_finite_for_huge_logits,
    "One greatest logit is taken off all rows; a row far below it underflows to log 0. Each row has its own.",
    cross_entropy: |x, y| {
        let top = x.flatten_all()?.max(0)?;
        let low = x.broadcast_sub(&top)?;
        picked(&low.broadcast_sub(&low.exp()?.sum_keepdim(1)?.log()?)?, y)
    }),
    wrong!("1.2", keeps_log_of_tiny_probabilities,
    "The log is taken of a softmax that has rounded to 0. Never form the probability: subtract the log of the sum.",
    cross_entropy: |x, y| {
        let e = x.broadcast_sub(&x.max_keepdim(D::Minus1)?)?.exp()?;
        picked(&e.broadcast_div(&e.sum_keepdim(1)?)?.log()?, y)
    }),
    wrong!("1.2", lets_the_gradient_through,
        "The logits were detached, or read out as numbers, on the way: no gradient reaches them.",
        cross_entropy: |x, y| REFERENCE_LOSS(&x.detach(), y)),
    wrong!("1.3", steps_down_the_gradient, "The step goes up the gradient; the loss falls the other way.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w + (g * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "The learning rate is left out.",
        sgd_step: |p, g, _| each(p, g, |w, g| w - g)),
    wrong!("1.3", steps_down_the_gradient, "The gradient is divided by the learning rate; it is multiplied by it.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g / lr)?)),
    wrong!("1.3", steps_down_the_gradient, "Only the gradient's sign is used; its size counts as well.",
        sgd_step: |p, g, lr| each(p, g, |w, g| w - (g.sign()? * lr)?)),
    wrong!("1.3", steps_down_the_gradient, "The parameter is set to the step alone; the step is taken off it.",
        sgd_step: |p, g, lr| each(p, g, |_, g| g * -lr)),
    wrong!("1.3", changes_every_parameter, "The new value is computed and thrown away: give it to the variable with `set`.",
    sgd_step: |p, g, lr| p.iter().zip(g).try_for_each(|(p, g)| {
        (p.as_tensor() - (g * lr)?).map(|_| ())
    })),
    wrong!("1.3", changes_every_parameter, "Only the first parameter is changed; go through all of them.",
        sgd_step: |p, g, lr| each(&p[..1], g, |w, g| w - (g * lr)?)),
    wrong!("1.4", remembers_the_direction, "The velocity is never stored: give it to its variable with `set`.",
        momentum_step: |p, g, _, lr, _| each(p, g, |w, g| w - (g * lr)?)),
    wrong!("1.4", begins_as_plain_descent, "The gradient enters by 1−μ (that is dampening); here it enters whole.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + (g * (1.0 - mu))?)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", begins_as_plain_descent, "μ multiplies the new gradient as well: μ·v + g, not μ·(v + g).",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v + g)? * mu)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", begins_as_plain_descent, "The parameter moves by the old velocity: first the velocity, then the parameter.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        Ok((((v * mu)? + g)?, (w - (v * lr)?)?))
    })),
    wrong!("1.4", begins_as_plain_descent, "This is Nesterov's momentum, which looks ahead by μ·v; plain momentum is asked.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + g)?;
        let ahead = (g + (&v * mu)?)?;
        Ok((v, (w - (ahead * lr)?)?))
    })),
    wrong!("1.4", remembers_the_direction, "The old velocity is kept whole: μ is left out.",
    momentum_step: |p, g, v, lr, _| moved(p, g, v, |w, g, v| {
        let v = (v + g)?;
        Ok((v.clone(), (w - (v * lr)?)?))
    })),
    wrong!("1.4", keeps_the_rate_out_of_the_velocity,
    "The learning rate is inside the velocity, so that an old rate lives on; multiply by it at the step.",
    momentum_step: |p, g, v, lr, mu| moved(p, g, v, |w, g, v| {
        let v = ((v * mu)? + (g * lr)?)?;
        Ok((v.clone(), (w - v)?))
    })),
    wrong!("1.5", begins_with_a_step_of_lr, "Neither mean is corrected for its start at 0.",
    adam_step: |p, g, s, lr, c| {
        twisted(p, g, s, lr, c, Twist { correct_mean: false, correct_square: false, ..ADAM })
    }),
    wrong!("1.5", begins_with_a_step_of_lr, "The mean square is not corrected for its start at 0.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { correct_square: false, ..ADAM })),
    wrong!("1.5", begins_with_a_step_of_lr, "The mean is not corrected for its start at 0.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { correct_mean: false, ..ADAM })),
    wrong!("1.5", begins_with_a_step_of_lr, "The root of v̂ is left out.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { root: false, ..ADAM })),
    wrong!("1.5", begins_with_a_step_of_lr, "v is a mean of |g|; it is one of g².",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { squared: false, ..ADAM })),
    wrong!("1.5", begins_with_a_step_of_lr, "The step is counted too late: t is 0 in the first, which divides by 0.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { late_count: true, ..ADAM })),
    wrong!("1.5", corrects_both_means, "β₁ and β₂ are swapped.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { swapped: true, ..ADAM })),
    wrong!("1.5", counts_the_steps, "The step is counted once for each parameter; count it once for all.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { count_each: true, ..ADAM })),
    wrong!("1.5", keeps_both_means, "The means are not stored: give them to their variables with `set`.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { keeps: false, ..ADAM })),
    wrong!("1.5", adds_epsilon_outside_the_root, "ε is added inside the root; it is added to the root.",
        adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, Twist { eps_inside: true, ..ADAM })),
    wrong!("1.5", adds_epsilon_outside_the_root, "ε is added before v is corrected, and so corrected with it.",
    adam_step: |p, g, s, lr, c| {
        twisted(p, g, s, lr, c, Twist { eps_before_correction: true, ..ADAM })
    }),
    wrong!("1.6", counts_the_last_batch, "The last batch is always dropped: whole-number division rounds down.",
        iterations: |n, size, drop| if drop && n > 0 { (n / size).max(1) } else { n / size }),
    wrong!("1.6", counts_the_last_batch, "One step too many where the last batch is full.",
        iterations: |n, size, drop| if drop { (REFERENCE.iterations)(n, size, drop) } else { n / size + 1 }),
    wrong!("1.6", drops_only_what_is_not_full, "`drop_last` is not looked at.",
        iterations: |n, size, _| n.div_ceil(size)),
    wrong!("1.6", drops_only_what_is_not_full, "A last batch that is full is dropped as well.",
    iterations: |n, size, drop| {
        let all = n.div_ceil(size);
        if drop && all > 1 { all - 1 } else { all }
    }),
    wrong!("1.6", keeps_the_only_batch, "The only batch is dropped where it is not full; an epoch must not be empty.",
        iterations: |n, size, drop| if drop { n / size } else { n.div_ceil(size) }),
    wrong!("1.6", has_no_step_without_records, "There is a step over no records at all.",
        iterations: |n, size, drop| (REFERENCE.iterations)(n, size, drop).max(1)),
    wrong!("1.6", keeps_the_only_batch, "`drop_last` is turned round.",
        iterations: |n, size, drop| if drop { n.div_ceil(size) } else { n / size }),
];
