//! Known wrong answers with the cause a student is told, and right answers written another way.

use candle_core::{D, DType, IndexOp, Result, Tensor, Var};
use canopy::optim::{AdamConfig, AdamState};
use grader::{Mistake, Right};

use crate::{Lesson01, REFERENCE};

/// A mistake in one function of the contract.
macro_rules! wrong {
    ($exercise:literal, $caught_by:ident, $cause:literal, $function:ident: $answer:expr) => {
        Mistake {
            exercise: $exercise,
            caught_by: stringify!($caught_by),
            cause: $cause,
            answer: Lesson01 {
                $function: $answer,
                ..REFERENCE
            },
        }
    };
}

/// Another way to write one function of the contract.
macro_rules! right {
    ($exercise:literal, $way:literal, $function:ident: $answer:expr) => {
        Right {
            exercise: $exercise,
            way: $way,
            answer: Lesson01 {
                $function: $answer,
                ..REFERENCE
            },
        }
    };
}

fn dot(x: &[f32], w: &[f32]) -> f32 {
    x.iter().zip(w).map(|(x, w)| x * w).sum()
}

/// `change` of each parameter, its gradient and lr.
fn each(params: &[Var], grads: &[Tensor], change: impl Fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<()> {
    let mut pairs = params.iter().zip(grads);
    pairs.try_for_each(|(p, g)| p.set(&change(&p.as_detached_tensor(), g)?))
}

/// −log p of each row's label, then its mean, from log p.
fn picked(log_p: &Tensor, labels: &Tensor) -> Result<Tensor> {
    log_p.gather(&labels.unsqueeze(1)?, 1)?.mean_all()?.neg()
}

/// Momentum steps that differ in the velocity that is kept and in the direction that is gone:
/// `rule(w, g, v, lr, momentum)` gives the next velocity and the next parameter.
fn moved(
    params: &[Var],
    grads: &[Tensor],
    velocities: &[Var],
    rule: impl Fn(&Tensor, &Tensor, &Tensor) -> Result<(Tensor, Tensor)>,
) -> Result<()> {
    for ((p, g), v) in params.iter().zip(grads).zip(velocities) {
        let (next, w) = rule(&p.as_detached_tensor(), g, &v.as_detached_tensor())?;
        v.set(&next)?;
        p.set(&w)?;
    }
    Ok(())
}

/// What a wrong Adam does otherwise.
#[derive(Clone, Copy)]
struct Twist {
    correct_mean: bool,
    correct_square: bool,
    squared: bool,
    root: bool,
    eps_inside: bool,
    eps_before_correction: bool,
    late_count: bool,
    count_each: bool,
    swapped: bool,
    keeps: bool,
}

const ADAM: Twist = Twist {
    correct_mean: true,
    correct_square: true,
    squared: true,
    root: true,
    eps_inside: false,
    eps_before_correction: false,
    late_count: false,
    count_each: false,
    swapped: false,
    keeps: true,
};

fn twisted(
    params: &[Var],
    grads: &[Tensor],
    state: &mut AdamState,
    lr: f64,
    config: &AdamConfig,
    twist: Twist,
) -> Result<()> {
    let (b1, b2) = if twist.swapped {
        (config.beta2, config.beta1)
    } else {
        (config.beta1, config.beta2)
    };
    if !twist.late_count && !twist.count_each {
        state.step += 1;
    }
    for (i, (p, g)) in params.iter().zip(grads).enumerate() {
        if twist.count_each {
            state.step += 1;
        }
        let m = ((state.mean[i].as_detached_tensor() * b1)? + (g * (1.0 - b1))?)?;
        let g2 = if twist.squared { g.sqr()? } else { g.abs()? };
        let v = ((state.square[i].as_detached_tensor() * b2)? + (g2 * (1.0 - b2))?)?;
        let t = state.step as f64;
        let c1 = if twist.correct_mean { 1.0 - b1.powf(t) } else { 1.0 };
        let c2 = if twist.correct_square {
            1.0 - b2.powf(t)
        } else {
            1.0
        };
        let v_hat = (&v / c2)?;
        let below = match (twist.root, twist.eps_inside, twist.eps_before_correction) {
            (false, _, _) => (v_hat + config.eps)?,
            (_, true, _) => (v_hat + config.eps)?.sqrt()?,
            (_, _, true) => ((v.sqrt()? + config.eps)? / c2.sqrt())?,
            _ => (v_hat.sqrt()? + config.eps)?,
        };
        p.set(&(p.as_detached_tensor() - (((&m / c1)? / below)? * lr)?)?)?;
        if twist.keeps {
            state.mean[i].set(&m)?;
            state.square[i].set(&v)?;
        }
    }
    if twist.late_count {
        state.step += 1;
    }
    Ok(())
}

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

const REFERENCE_LOSS: fn(&Tensor, &Tensor) -> Result<Tensor> = REFERENCE.cross_entropy;

pub const RIGHT: &[Right<Lesson01>] = &[
    right!("1.1", "a loop over indices that starts at the bias", neuron: |x, w, b, f| {
        let mut sum = b;
        for i in 0..x.len() {
            sum += w[i] * x[i];
        }
        f(sum)
    }),
    right!("1.1", "summed in f64, from the last", neuron: |x, w, b, f| {
        let sum: f64 = x.iter().zip(w).rev().map(|(&x, &w)| f64::from(x) * f64::from(w)).sum();
        f((sum + f64::from(b)) as f32)
    }),
    right!("1.2", "log_sum_exp less the label's logit", cross_entropy: |x, y| {
        let hit = x.gather(&y.unsqueeze(1)?, 1)?.squeeze(1)?;
        (x.log_sum_exp(1)? - hit)?.mean_all()
    }),
    right!("1.2", "a mask of ones in place of gather", cross_entropy: |x, y| {
        let (rows, classes) = x.dims2()?;
        let column = Tensor::arange(0u32, classes as u32, x.device())?.broadcast_as((rows, classes))?;
        let mask = column.broadcast_eq(&y.unsqueeze(1)?)?.to_dtype(DType::F32)?;
        let top = x.max_keepdim(1)?;
        let low = x.broadcast_sub(&top)?;
        let log_p = low.broadcast_sub(&low.exp()?.sum_keepdim(1)?.log()?)?;
        (log_p * mask)?.sum_all()? / -(rows as f64)
    }),
    right!("1.3", "the step added, turned round", sgd_step: |p, g, lr| each(p, g, |w, g| g.affine(-lr, 0.0)? + w)),
    right!("1.4", "the velocity turned round at the end", momentum_step: |p, g, v, lr, mu| {
        for i in 0..p.len() {
            v[i].set(&(&g[i] + v[i].affine(mu, 0.0)?)?)?;
            p[i].set(&(p[i].as_detached_tensor() + v[i].as_detached_tensor().affine(-lr, 0.0)?)?)?;
        }
        Ok(())
    }),
    right!("1.5", "as the paper writes it", adam_step: |p, g, s, lr, c| twisted(p, g, s, lr, c, ADAM)),
    right!("1.5", "the corrections moved into the rate", adam_step: |p, g, s, lr, c| {
        s.step += 1;
        let t = s.step as i32;
        let root = (1.0 - c.beta2.powi(t)).sqrt();
        for i in 0..p.len() {
            let (m, v) = (s.mean[i].as_detached_tensor(), s.square[i].as_detached_tensor());
            let m = (&m + ((&g[i] - &m)? * (1.0 - c.beta1))?)?;
            let v = (&v + ((g[i].sqr()? - &v)? * (1.0 - c.beta2))?)?;
            s.mean[i].set(&m)?;
            s.square[i].set(&v)?;
            let step = (m * (lr * root / (1.0 - c.beta1.powi(t))))? / (v.sqrt()? + c.eps * root)?;
            p[i].set(&(p[i].as_detached_tensor() - step?)?)?;
        }
        Ok(())
    }),
    right!("1.6", "counted up", iterations: |n, size, drop| {
        let full = n / size;
        let rest = usize::from(!n.is_multiple_of(size));
        if drop && full > 0 { full } else { full + rest }
    }),
];
