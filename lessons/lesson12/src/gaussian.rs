//! 12.2: the loss of Gaussians.

use grader::{Check, Draw, Mistake, mistakes, rows};

use crate::{Lesson12, REFERENCE, answers, tensors::*};

fn one(d: &mut Draw, log_std: f32, distance: f32) -> Vec<Named> {
    let mean = d.list(1, 1.0, 2.0)[0];
    named(&[&[mean], &[log_std], &[mean + distance]])
}

fn drawn(d: &mut Draw, n: usize) -> Vec<Named> {
    named(&[
        &d.list(n, -2.0, 2.0),
        &d.list(n, -1.2, 0.9),
        &d.list(n, -2.0, 2.0),
    ])
}

pub const CHECKS: &[Check<Lesson12>] = rows! { "12.2";
    by loss {
        includes_the_constant_and_the_deviation: "0.5·ln 2π + ln σ",
            "For y = μ, two terms remain: 0.9189 plus `log_std` as it is. Their sum may be negative." =>
            |d| [0.25, -0.5, 1.25, -2.0].map(|log_std| one(d, log_std, 0.0)).to_vec();
        measures_the_distance_in_units_of_the_deviation: "0.5·((y − μ)/σ)²",
            "Multiply y − μ by exp(−ln σ), where ln σ is `log_std`; add half of the square." => |d| {
            let pairs = [3.0, -2.0].map(|distance| [-1.0, 0.75, 0.25].map(|log_std| (log_std, distance)));
            pairs.into_iter().flatten().map(|(log_std, distance)| one(d, log_std, distance)).collect()
        };
        averages_over_the_targets: "the mean over n targets",
            "Each target has its own μ and σ. Return the mean of their losses, a scalar." =>
            |d| [2, 5, 1, 33].map(|n| drawn(d, n)).to_vec();
    }
    by gradients {
        has_the_gradients_of_the_formula: "`backward` through it reaches all three",
            "Compute with tensors all the way: what is detached, or converted to numbers, has no gradient." =>
            |d| [4, 1].map(|n| drawn(d, n)).to_vec();
        stays_finite_for_extreme_deviations: "loss and gradients are finite",
            "Multiply y − μ by exp(−ln σ) and square it. No σ², no division, no clamp, no added number." => |d| {
            // e^±120 is infinite or 0 in f32.
            let mut all = [60.0, -60.0, 50.0, -50.0].map(|log_std| one(d, log_std, 0.0)).to_vec();
            all.push(one(d, 60.0, 5.0));
            // Some two σ away, both far below what is often added to σ.
            all.push(named(&[&[1.5], &[-16.0], &[1.5 + 2f32.powi(-22)]]));
            all
        };
    }
    by loss {
        rejects_shapes_that_differ: "an error if the shapes differ",
            "Compare the three shapes first, and return an error if they differ." => |_| {
            let shapes: [[&[usize]; 3]; 5] = [
                [&[3], &[3], &[2]], [&[3], &[3], &[1]], [&[1], &[3], &[3]], [&[3], &[1], &[3]], [&[3], &[3], &[3, 1]],
            ];
            shapes.map(|shapes| zeros(&shapes)).to_vec()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson12>] = mistakes! { "12.2" gaussian_nll;
    1 "The constant ½·ln 2π is missing.";
    2 "ln σ is missing: without it, the largest σ is always the best.";
    3 "The distance is multiplied by σ; divide it: exp(−ln σ).";
    4 "This is the log-likelihood; its negative is to minimise.";
    5 "y − μ is divided by σ, and candle's gradient of a division squares σ. Multiply by exp(−ln σ).";
};
