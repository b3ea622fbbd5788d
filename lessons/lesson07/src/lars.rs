//! 7.5: a step of LARS.

use canopy::optim::LarsConfig;
use grader::{Check, Draw, Mistake, Verdict, mistakes, rows};

use crate::layers::{Steps, TINY};
use crate::{Lesson07, REFERENCE, answers, drawn};

fn stepped(answer: &Lesson07, (steps, config): (Steps, LarsConfig)) -> Verdict {
    let lr = |k: usize| 0.8 / (k + 1) as f64;
    steps.compare(
        &format!("lr 0.8, then 0.4, then 0.8/3; {config:?}"),
        &["parameter", "velocity of parameter"],
        answer,
        &|lesson, params, grads, state, k| (lesson.lars_step)(params, grads, &state.mean, lr(k), &config),
    )
}

/// Settings with momentum, so that what enters the velocity and when makes a difference.
fn config(d: &mut Draw, weight_decay: f64) -> LarsConfig {
    let (momentum, trust, vectors) = (drawn(d, 0.5, 0.8), drawn(d, 0.01, 0.05), false);
    LarsConfig {
        momentum,
        weight_decay,
        trust,
        vectors,
    }
}

pub const CHECKS: &[Check<Lesson07>] = rows! { "7.5";
    by stepped {
        scales_the_step_by_the_trust_ratio: "The ratio is",
            "Subtract and store lr·ratio·g; the ratio is η·‖w‖/‖g‖, 2-norms of this parameter, or 1 with at most one axis." =>
            |d| vec![(Steps::new(d, 1), config(d, 0.0))];
        keeps_the_rate_in_the_velocity: "v ← μ·v + lr·ratio",
            "Store v ← μ·v + lr·ratio·g, with this call's `lr` and `momentum`; then subtract v alone from w." =>
            |d| vec![(Steps::new(d, 2), config(d, 0.0)), (Steps::new(d, 3), config(d, 0.0))];
        includes_the_decay_in_the_ratio: "The ratio is",
            "λ is in the ratio, as λ·‖w‖, and in lr·ratio·(g + λ·w); with at most one axis it is 0." =>
            |d| vec![(Steps::new(d, 2), config(d, 0.3))];
        has_trust_ratio_1_for_zero_norms: "or 1 if `‖w‖` or `‖g‖` is 0",
            "If ‖w‖ or ‖g‖ is 0, only the ratio changes, to 1; the old velocity, g and λ·w do not." => |d| vec![
                (Steps::new(d, 1).times([0], 0.0, 1.0).times([3], 0.0, 0.0), config(d, 0.1)),
                (Steps::new(d, 2).times([0, 2, 3], 1.0, 0.0), config(d, 0.1)),
            ];
        scales_tiny_norms: "`‖g‖` is 0",
            "Only a norm of exactly 0 is special: add nothing to a norm, and take no small one for 0." => |d| vec![
                (Steps::new(d, 1).times([0, 2, 3], 1.0, TINY), config(d, 0.0)),
                (Steps::new(d, 1).times([0, 2, 3], TINY, 1.0), config(d, 0.0)),
            ];
        scales_vectors_if_configured: "unless `config.vectors`",
            "If `config.vectors` is true, parameters with at most one axis have ratio and decay like all others." =>
            |d| vec![(Steps::new(d, 2), LarsConfig { vectors: true, ..config(d, 0.3) })];
    }
};

pub const MISTAKES: &[Mistake<Lesson07>] = mistakes! { "7.5" lars_step;
    1 "Biases are scaled and decayed as well; they should take plain steps.";
    2 "The ratio is missing: this is plain momentum.";
    3 "Biases are not scaled, but they are decayed; their λ should be 0.";
};
