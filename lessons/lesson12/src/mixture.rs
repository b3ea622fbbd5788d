//! 12.3: the loss of mixtures.

use grader::{Check, Draw, Mistake, mistakes, rows};

use crate::{Lesson12, REFERENCE, answers, tensors::*};

fn drawn(d: &mut Draw, n: usize, k: usize) -> Vec<Named> {
    let (logits, mean) = (d.list(n * k, -1.5, 1.5), d.list(n * k, -2.0, 2.0));
    let (log_std, target) = (d.list(n * k, -0.9, 0.6), d.list(n, -2.0, 2.0));
    named(&[&logits, &mean, &log_std, &target])
}

/// The same mixtures, with each logit changed.
fn with_logits(mut mixtures: Vec<Named>, change: fn(f32) -> f32) -> Vec<Named> {
    mixtures[0].1.iter_mut().for_each(|logit| *logit = change(*logit));
    mixtures
}

pub const CHECKS: &[Check<Lesson12>] = rows! { "12.3";
    by loss {
        is_the_density_of_one_gaussian_for_k_1: "the mean over n targets",
            "With k = 1 the weight is 1, and the loss is ½·ln 2π + ln σ + ½·((y − μ)/σ)², as in 12.2." => |d| {
            let mean = d.list(1, -2.0, 2.0)[0];
            let logit = d.list(1, 0.5, 2.0)[0];
            [(0.0, -1.0, 1.0), (0.0, 0.75, -2.0), (0.0, 0.25, 0.0), (0.0, -2.0, 0.0), (logit, -0.25, 0.5)]
                .map(|(logit, log_std, distance)| named(&[&[logit], &[mean], &[log_std], &[mean + distance]])).to_vec()
        };
        sums_the_densities_of_the_components: "−ln Σⱼ wⱼ·N(y; μⱼ, σⱼ)",
            "Equal logits of a row have weights 1/k: the loss is −ln of the mean of the k densities." =>
            |d| [2, 3, 2].map(|k| with_logits(drawn(d, 1, k), |_| 0.0)).to_vec();
        weights_components_by_the_softmax: "w the softmax of each row of `logits`",
            "ln w is the logit minus the log-sum-exp of the row's logits. Add no small number." => |d| {
            let mut all = Vec::new();
            for k in [2, 4] {
                let mixtures = drawn(d, 1, k);
                // The softmax does not change if all logits grow alike.
                all.extend([mixtures.clone(), with_logits(mixtures, |logit| logit + 2.5)]);
            }
            // A tiny weight, e^-40, of the only component that is near.
            let mean = d.list(1, -1.0, 1.0)[0];
            all.push(named(&[&[25.0, -15.0], &[mean, mean + 14.0], &[0.0, 0.0], &[mean + 14.0]]));
            all
        };
        averages_over_the_rows: "the mean over n targets",
            "Softmax and log-sum-exp go over the components of a row. Then return the mean over the rows, a scalar." =>
            |d| [(3, 2), (2, 3), (3, 3), (17, 4), (4, 1)].map(|(n, k)| drawn(d, n, k)).to_vec();
    }
    by gradients {
        has_the_gradients_of_the_mixture: "`backward` through it reaches all four",
            "Compute with tensors all the way: what is detached, or converted to numbers, has no gradient." => |d| {
            let mut all = [(2, 3), (1, 2), (3, 1)].map(|(n, k)| drawn(d, n, k)).to_vec();
            // Two equal components have equal gradients.
            let mut equal = drawn(d, 1, 2);
            equal[..3].iter_mut().for_each(|(_, part, _)| part[1] = part[0]);
            all.push(equal);
            all
        };
        stays_finite_far_from_every_component: "σ away from all components",
            "A row's densities are all 0 in f32: take the log-sum-exp of ln w + ln N, with the maximum of each row." => |d| {
            let far = [30.0, -100.0, 10_000.0].map(|sigmas: f32| {
                let logit = d.list(1, -1.0, 1.0)[0];
                named(&[&[logit, 0.0], &[-0.5, 1.0], &[0.25, -0.5], &[sigmas * 0.25f32.exp()]])
            });
            // One row of several: the maximum is the row's own.
            let one = named(&[&[0.5, 0.0, 0.25, 0.0], &[-0.5, 1.0, 0.0, 1.0], &[0.25, -0.5, 0.0, 0.0], &[0.25, 500.0]]);
            far.into_iter().chain([one]).collect()
        };
        stays_finite_for_large_logits: "for logits of ±10,000",
            "ln w is the logit as it is minus the log-sum-exp: exp may overflow, and ln 0 is infinite." => |d| {
            let mean = d.list(1, -1.0, 1.0)[0];
            let logits = [[200.0, 199.0], [10_000.0, 9_999.0], [-10_000.0, -9_999.0], [10_000.0, -10_000.0]];
            // The second component alone would be likely.
            logits.map(|logits| named(&[&logits, &[mean, 2.0], &[-0.25, 0.25], &[mean + 0.5]])).to_vec()
        };
    }
    by loss {
        rejects_shapes_that_do_not_fit: "Returns an error unless `target` is `[n]`",
            "A broadcast accepts shapes that do not fit: compare all four shapes first, and return an error." => |_| {
            let shapes: [[&[usize]; 4]; 7] = [
                [&[3, 2], &[3, 2], &[3, 2], &[2]], [&[3, 2], &[3, 2], &[3, 1], &[3]], [&[3, 2], &[3, 2], &[3, 2], &[1]],
                [&[3, 2], &[1, 2], &[3, 2], &[3]], [&[3, 1], &[3, 2], &[3, 2], &[3]],
                [&[3, 2], &[3, 2], &[3, 2], &[3, 1]], [&[3, 2], &[3, 2], &[3, 2], &[3, 2]],
            ];
            shapes.map(|shapes| zeros(&shapes)).to_vec()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson12>] = mistakes! { "12.3" mixture_nll;
    1 "The constant ½·ln 2π is missing.";
    2 "−ln σ is missing in the density: without it, the largest σ is always the best.";
    3 "The logarithms of the densities are averaged; add the densities, and take the logarithm of the sum.";
    4 "Only the most likely component counts; add the densities of all.";
    5 "The logits are used as ln w; subtract the log-sum-exp of the row first.";
    6 "This is the log-likelihood; its negative is to minimise.";
    7 "The densities themselves are added, which are 0 in f32 far from all components. Use the log-sum-exp.";
};
