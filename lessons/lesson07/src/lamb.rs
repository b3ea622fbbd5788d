//! 7.6: a step of LAMB.

use canopy::optim::LambConfig;
use grader::{Check, Draw, Mistake, Verdict, mistakes, rows};

use crate::layers::{Steps, TINY};
use crate::{Lesson07, REFERENCE, answers, drawn};

fn stepped(answer: &Lesson07, (steps, config): (Steps, LambConfig)) -> Verdict {
    steps.compare(
        &format!("lr 0.05, {config:?}"),
        &["parameter", "mean m of parameter", "mean square v of parameter"],
        answer,
        &|lesson, params, grads, state, _| (lesson.lamb_step)(params, grads, state, 0.05, &config),
    )
}

fn config(d: &mut Draw, weight_decay: f64) -> LambConfig {
    let (beta1, beta2, eps) = (drawn(d, 0.6, 0.8), drawn(d, 0.85, 0.95), 0.05);
    LambConfig {
        beta1,
        beta2,
        eps,
        weight_decay,
    }
}

pub const CHECKS: &[Check<Lesson07>] = rows! { "7.6";
    by stepped {
        scales_the_step_by_the_norm_ratio: "(‖w‖/‖r‖)·r",
            "At t = 1, m̂ is g and v̂ is g², each with its own β, so r is g/(|g| + ε), and every w loses lr·(‖w‖/‖r‖)·r. \
             Store m and v, not m̂ and v̂." =>
            |d| vec![(Steps::new(d, 1), config(d, 0.0))];
        corrects_the_bias_of_both_means: "m̂ and v̂ as in 1.5",
            "Store both means, and correct each with its own β and this call's t, the same for all parameters." =>
            |d| vec![(Steps::new(d, 2), config(d, 0.0)), (Steps::new(d, 4), config(d, 0.0))];
        includes_the_decay_in_the_direction: "√v̂ + ε) + λ·w",
            "r is m̂/(√v̂ + ε) + λ·w, with both means corrected: first the sum, then its norm, and the ratio." =>
            |d| vec![(Steps::new(d, 1), config(d, 0.5)), (Steps::new(d, 2), config(d, 0.3))];
        has_norm_ratio_1_for_zero_norms: "use 1 for", "If ‖w‖ or ‖r‖ is 0, the parameter moves by lr·r." => |d| {
            let steps = Steps::new(d, 1).times([0], 0.0, 1.0).times([2], 1.0, 0.0);
            vec![(steps.times([3], 0.0, 0.0), config(d, 0.0))]
        };
        scales_tiny_norms: "`‖r‖` is 0",
            "Only a norm of exactly 0 is special: add nothing to a norm, and take no small one for 0." => |d| vec![
                // Far below ε, r is short as well.
                (Steps::new(d, 1).times([0, 1, 2, 3], 1.0, TINY), config(d, 0.0)),
                (Steps::new(d, 1).times([0, 1, 2, 3], TINY, 1.0), config(d, 0.0)),
            ];
    }
};

pub const MISTAKES: &[Mistake<Lesson07>] = mistakes! { "7.6" lamb_step;
    1 "The means are not bias-corrected (they start at 0).";
    2 "The norm of the weights is divided by that of the gradient; divide it by that of r.";
    3 "The step is counted once for each parameter; count it once for all.";
    4 "Parameters with one axis are not scaled; unlike in LARS, their ratio is ‖w‖/‖r‖ as well.";
};
