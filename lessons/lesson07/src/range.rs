//! 7.4: the range test.

use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};
use kit::shown;

use crate::{Lesson07, REFERENCE, answers, drawn};

/// The losses of the steps, smoothing, breaks.
type Input = (Vec<f64>, f64, f64);

fn found(answer: &Lesson07, (losses, smoothing, breaks): Input) -> Verdict {
    let rates: Vec<f64> = (0..losses.len()).map(|i| 1e-3 * 1.5f64.powi(i as i32)).collect();
    let list = shown(&losses);
    let case = given(format!(
        "rates 0.001·1.5ⁱ; losses [{list}]; smoothing {smoothing}, breaks {breaks}"
    ));
    let facts = |lesson: &Lesson07| {
        let mut asked = Vec::new();
        let found = (lesson.range_test)(&rates, smoothing, breaks, &mut |rate| {
            asked.push(rate);
            losses.get(asked.len() - 1).copied().unwrap_or(f64::NAN)
        });
        let end = format!("{}, after {} steps", found.broke, asked.len());
        let facts = Facts::default().text("broke", end);
        let facts = facts.values("losses", &found.losses);
        let facts = facts.values("rates", &found.rates);
        let facts = facts.values("rates of all steps", &asked);
        let none = found.suggestion.is_none();
        let facts = facts.items("suggestion", found.suggestion);
        if none {
            return facts
                .cause("No smoothed loss is lower than the one before it, which is no fall: the suggestion is None.")
                .asked("L ≥ 2 smoothed losses");
        }
        facts
    };
    case.same(facts(answer), facts(&REFERENCE))
}

/// Losses that are neither smoothed nor end the test.
fn plain(losses: Vec<f64>) -> Input {
    (losses, 0.0, 100.0)
}

/// `count` losses from `first` on, each higher by `by`.
fn line(first: f64, by: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| first + by * i as f64).collect()
}

pub const CHECKS: &[Check<Lesson07>] = rows! { "7.4";
    by found {
        tries_every_rate: "each of `rates`",
            "Take one step at each rate, if any. Here β is 0: from t = 1 on, each smoothed loss is x, in f64; none diverges." =>
            |d| vec![plain(line(1.0, 0.1, d.whole(5, 9))), plain(Vec::new())];
        suggests_nothing_without_a_fall: "L ≥ 2 smoothed losses", "" => |d| {
            let x = drawn(d, 1.0, 2.0);
            [vec![x, x, 2.5], vec![x, 2.1, 2.2, 2.3], vec![x]].map(plain).to_vec()
        };
        smooths_with_bias_correction: "as m̂ in 1.5",
            "m ← β·m + (1−β)·x, from m = 0; the smoothed loss is m/(1−βᵗ), t from 1, in f64. m itself is not divided." =>
            |d| vec![((0..8).map(|i| drawn(d, 1.0, 1.1) + 0.2 * i as f64).collect(), drawn(d, 0.6, 0.9), 9.0)];
        suggests_a_rate_on_the_longest_fall: "⌊L/3⌋ + ⌊L/6⌋",
            "Suggest the rate at s + ⌊L/3⌋ + ⌊L/6⌋ of the first fall with the most losses, even at the end." => |d| {
            let sixes = 6 * d.whole(1, 2);
            // By the first two lengths a count that is one short is seen, by the third a plain half. There is a short
            // deep fall, a long one, one as long again that goes lowest, a steep one.
            let two = |long| [line(8.0, -0.1, long), line(7.7, -0.3, long)].concat();
            let falls = |long| [vec![6.0, 4.0], two(long), vec![9.0, 5.0]].concat();
            let to_the_end = [vec![5.0, 4.0, 3.5, 6.0, 5.5], line(8.0, -0.2, d.whole(7, 12))].concat();
            [falls(sixes), falls(sixes + 3), falls(sixes + 5), to_the_end].map(plain).to_vec()
        };
        ends_a_fall_at_an_equal_loss: "lower than the one before",
            "An equal loss ends the fall: each must be lower than the one before it." => |d| {
            let losses = [vec![9.0, 8.0], vec![7.0; d.whole(5, 9)], vec![8.0, 7.5, 6.5, 6.0, 6.5]];
            vec![plain(losses.concat())]
        };
        looks_for_the_fall_of_the_smoothed_losses: "smoothed losses from `s` on",
            "Look for the longest fall in the smoothed losses, not in the single ones." => |d| {
            // The smoothed losses fall all the time, while every second single loss rises.
            let up = |i| 3.0 - 0.2 * i as f64 + 0.5 * (i % 2) as f64;
            let losses = [vec![6.0], (0..2 * d.whole(3, 5)).map(up).collect()];
            vec![(losses.concat(), 0.8, 100.0)]
        };
        stops_when_the_smoothed_loss_diverges: "above `breaks` times",
            "Stop at a smoothed loss above `breaks` times the least before: `broke` is true, its step left out." => |d| {
            // A single leap is smoothed away. Then the loss climbs slowly, so that the test ends elsewhere if the limit
            // is twice the first smoothed loss, twice the one before, twice the least single loss, or 2 more. The last
            // losses would go on.
            let high = drawn(d, 0.95, 1.05);
            let mut losses = vec![0.8, 0.6, 0.3, 0.2, 0.16, 0.34, 0.12, 0.3, 0.36, 0.45, 0.55, 0.7, 0.9];
            losses.extend([1.1, 1.4, 1.8, 2.4, 3.0, 4.0].map(|loss| loss * high));
            losses.extend([0.01, 0.01]);
            vec![(losses, 0.7, 2.0)]
        };
        continues_exactly_at_the_limit: "above `breaks` times",
            "A loss at the limit has not diverged, but one above it has, also at the last rate." => |d| {
            // Without smoothing, and in powers of two, nothing is rounded. The second diverges at the last rate.
            let size = [0.5, 1.0, 2.0][d.whole(0, 2)];
            let of = |losses: &[f64]| (losses.iter().map(|loss| loss * size).collect(), 0.0, 4.0);
            vec![of(&[1.0, 4.0, 0.5, 2.0, 0.25]), of(&[1.0, 0.5, 2.0, 2.5])]
        };
        stops_at_a_non_finite_loss: "is not finite",
            "A loss that is NaN or infinite has diverged, also at the first step: ask `is_finite`." => |d| {
            let counts = [d.whole(2, 5), 0];
            let of = |good, odd| ([line(2.0, -0.2, good), vec![odd, 1.0, 1.0]].concat(), 0.5, 4.0);
            let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            counts.iter().flat_map(|&good| odd.map(|odd| of(good, odd))).collect()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson07>] = mistakes! { "7.4" range_test;
    1 "The mean starts at 0 and is too small at first: divide it by 1 − βᵗ.";
    2 "The corrected mean enters the next step: continue with m as it was before the division.";
    3 "The loss itself is compared; compare the smoothed loss: one unlucky batch must not end the test.";
    4 "The rate of the least loss is suggested; there the loss is about to diverge.";
    5 "β is the share of the old mean that is kept, not the share of the new loss.";
};
