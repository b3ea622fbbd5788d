//! Known wrong answers to exercise 1.5.

use super::*;

/// A step of Adam with other parts.
macro_rules! adam {
    ($check:ident, $cause:literal, $($part:ident: $is:expr),+) => {
        wrong!("1.5", $check, $cause, adam_step: |p, g, s, lr, c| {
            twisted(p, g, s, lr, c, Twist { $($part: $is,)+ ..ADAM })
        })
    };
}

pub const MISTAKES: &[Mistake<Lesson01>] = &[
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
    wrong!("1.5", first_step_has_size_lr, "The last parameter is left out: the loop ends one too early.",
        adam_step: |p, g, s, lr, c| twisted(&p[..p.len().max(1) - 1], g, s, lr, c, ADAM)),
    wrong!("1.5", updates_the_means_without_a_gradient, "An empty list of parameters is an error; such a step is counted, and is Ok.",
    adam_step: |p, g, s, lr, c| {
        if p.is_empty() {
            bail!("no parameters");
        }
        twisted(p, g, s, lr, c, ADAM)
    }),
    adam!(updates_the_means_without_a_gradient, "Without parameters the step is not counted; `state.step` counts every call.",
        counts: |n| u64::from(n > 0)),
    adam!(first_step_has_size_lr, "Weight decay is added, which the rule does not have.",
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
    adam!(corrects_the_bias_of_both_means, "The bias is corrected in the first step only; correct it in every step, with its own t.",
        next: |a| if a.t == 1.0 { (ADAM.next)(a) } else { a.corrected(1.0, 1.0) }),
    adam!(corrects_the_bias_of_both_means, "t is one too small from the second step on: count the step before you use t.",
        time: |step, _| step.max(1)),
    adam!(corrects_the_bias_of_both_means, "v is a mean of |g|, without a root; it should be a mean of g², and the step divides by √v̂.",
        square: |a| (&a.v * a.c.beta2)? + (a.g.abs()? * (1.0 - a.c.beta2))?,
        next: |a| a.step((&a.m / a.first())?, ((&a.v / a.second())? + a.c.eps)?)),
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
    adam!(first_step_has_size_lr, "v adds up all squares, as in Adagrad; it is β₂·v + (1−β₂)·g².",
        square: |a| &a.v + a.g.sqr()?),
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
    wrong!("1.5", steps_at_the_current_rate, "Nothing is done if the learning rate is 0; the means must still be updated.",
    adam_step: |p, g, s, lr, c| {
        if lr == 0.0 {
            s.step += 1;
            return Ok(());
        }
        twisted(p, g, s, lr, c, ADAM)
    }),
    wrong!("1.5", steps_at_the_current_rate, "Nothing is done if the learning rate is 0; the step and the means must still be updated.",
        adam_step: |p, g, s, lr, c| if lr == 0.0 { Ok(()) } else { twisted(p, g, s, lr, c, ADAM) }),
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
];
