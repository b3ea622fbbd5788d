//! 1.5: a step of Adam.

use canopy::optim::AdamConfig;
use grader::{Check, Draw, Mistake, Verdict, mistakes, rows};

use crate::{
    Lesson01, REFERENCE, answers,
    steps::{ALIKE, DTYPES, SHAPES, Steps},
};

fn stepped(answer: &Lesson01, steps: Steps) -> Verdict {
    let AdamConfig {
        beta1, beta2, eps, ..
    } = steps.config;
    let (config, rates) = (&steps.config, &steps.rates);
    steps.compare(
        &format!(", β₁ {beta1}, β₂ {beta2}, ε {eps:e}{}", steps.begins()),
        &["mean m", "mean square v"],
        &|params, grads, state, k| (answer.adam_step)(params, grads, state, rates[k], config),
        &|params, grads, state, k| answers::adam_step::<0>(params, grads, state, rates[k], config),
    )
}

fn drawn(d: &mut Draw) -> AdamConfig {
    let thousandths = |x: f64| (x * 1e3).round() / 1e3;
    AdamConfig {
        beta1: thousandths(d.number(0.6, 0.8)),
        beta2: thousandths(d.number(0.9, 0.95)),
        ..AdamConfig::default()
    }
}

/// With other β than the usual ones.
fn drawn_steps(d: &mut Draw, rates: &[f64]) -> Steps {
    let config = drawn(d);
    Steps::new(d, &ALIKE, rates).config(config)
}

pub const CHECKS: &[Check<Lesson01>] = rows! { "1.5";
    by stepped {
        first_step_has_size_lr: "w ← w − lr·m̂/(√v̂ + ε)",
            "In the first step m̂ is g and v̂ is g², entry by entry; divided by the root of v̂, each moves by about lr against its gradient." => |d| vec![
                Steps::new(d, &ALIKE[..1], &[0.125]).parameters_only(),
                Steps::new(d, &ALIKE, &[0.125]).parameters_only(),
                Steps::new(d, &SHAPES, &[0.125]).gradient(0, 0, 1e4).gradient(0, 1, 1e-2).parameters_only(),
            ];
        corrects_the_bias_of_both_means: "m̂ = m/(1−β₁ᵗ) and v̂ = v/(1−β₂ᵗ)",
            "Store m and v as they are; m̂ and v̂, each by its own β and the t of the step, are for this step alone." =>
            |d| vec![drawn_steps(d, &[0.1; 3]).parameters_only()];
        stores_both_means: "m ← β₁·m + (1−β₁)·g and v ← β₂·v + (1−β₂)·g²", "Store m and v as they are, before the correction." =>
            |d| vec![drawn_steps(d, &[0.1; 2]).state_only()];
        counts_the_steps: "Add 1 to `state.step` first",
            "Continue from the stored m, v and `state.step`, for parameters of any shape: count the call once." => |d| {
            let (count, before, config) = (d.whole(2, 6), d.whole(5, 40) as u64, drawn(d));
            // With β₂ = 0.999, 1 − β₂ᵗ in f32 would fail here, and not for its dtype.
            vec![
                Steps::new(d, &SHAPES, &vec![0.1; count]).config(config.clone()),
                Steps::new(d, &ALIKE, &[0.1; 2]).config(config).begin(before, 0.25, 0.5),
            ]
        };
        adds_epsilon_after_the_root: "lr·m̂/(√v̂ + ε)", "Add `config.eps` to the root of v̂." => |d| {
            let eps = AdamConfig { eps: 0.5, ..drawn(d) };
            vec![
                Steps::new(d, &ALIKE, &[0.1; 3]).config(eps),
                // A gradient that has always been 0 does not move the parameter.
                Steps::new(d, &ALIKE, &[0.1]).gradient(0, 0, 0.0),
            ]
        };
        updates_the_means_without_a_gradient: "for each parameter w",
            "Every call counts and updates all means and parameters: also with a gradient of 0, and without parameters." => |d| {
            let mut without = |i: usize| {
                let config = drawn(d);
                Steps::new(d, &SHAPES, &[0.1; 3]).config(config).gradient(1, i, 0.0)
            };
            let mut all = vec![without(0), without(1), without(2)];
            all.push(Steps::new(d, &[], &[0.1]));
            all
        };
        steps_at_the_current_rate: "w ← w − lr·m̂/(√v̂ + ε)", "Use the `lr` of this call; with 0, the means are updated all the same." =>
            |d| vec![drawn_steps(d, &[0.1, 0.0, 0.01])];
        keeps_the_dtype_of_the_means: "Dtypes are as in 1.3",
            "Do not convert a tensor of f64, or a factor such as 1 − βᵗ, to f32." => |d| {
            // ε and both β are numbers of every dtype.
            let config = AdamConfig { beta1: 0.5, beta2: 0.75, eps: 0.125, ..AdamConfig::default() };
            vec![
                Steps::new(d, &DTYPES, &[0.25; 2]).size(1e40).config(config),
                Steps::new(d, &DTYPES[1..2], &[0.1; 3]),
            ]
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson01>] = mistakes! { "1.5" adam_step;
    1 "t is 1 in every step: the step is not counted in `state.step`, or not used.";
    2 "t is one too large: it is 1 in the first step, and `state.step` counts up to it.";
    3 "A parameter without a gradient is skipped; its means must fall, and its m̂ still moves it.";
    4 "β₁ and β₂ are always 0.9 and 0.999; use those of `config`.";
    5 "The factor 1−β₂ of the squared gradient is left out of v.";
    6 "The factor 1−β₁ of the gradient is left out of m.";
    7 "The means are not stored: store them in their variables with `set`.";
    8 "Neither mean is bias-corrected (both start at 0).";
    9 "The mean of the gradients is not bias-corrected (it starts at 0).";
    10 "The mean of the squares is not bias-corrected (it starts at 0).";
    11 "ε is added inside the root; add it to the root.";
    12 "ε is added to √v before the bias correction; add it to √v̂.";
};
