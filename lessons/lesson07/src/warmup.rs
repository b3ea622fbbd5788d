//! 7.1: linear scaling with warm-up.

use std::ops::Range;

use grader::{Check, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson07, REFERENCE, answers, drawn};

/// Steps, warm-up, base, batch, reference.
type Input = (Range<u64>, u64, f64, usize, usize);

fn rates(answer: &Lesson07, (steps, warmup, base, batch, reference): Input) -> Verdict {
    let case = given(format!(
        "steps {steps:?}, warmup {warmup}, base {base}, batch {batch}, reference {reference}"
    ));
    let of = |lesson: &Lesson07| -> Vec<f64> {
        let rate = |step| (lesson.scaled_warmup)(step, warmup, base, batch, reference);
        steps.clone().map(rate).collect()
    };
    case.close("rates", &of(answer), &of(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson07>] = rows! { "7.1";
    by rates {
        starts_at_the_base_rate: "from `base` at step 0",
            "At step 0 of a warm-up the rate is `base` itself, in f64." => |d| vec![
                (0..1, d.whole(5, 50) as u64, drawn(d, 0.01, 0.2), 512, 32),
                (0..1, d.whole(5, 50) as u64, drawn(d, 0.01, 0.2), 256, 64),
            ];
        stays_at_the_scaled_rate: "from step `warmup` on",
            "From step `warmup` on, the rate is base·batch/reference, the same in every step." => |d| {
            let (warmup, base) = (d.whole(3, 9) as u64, drawn(d, 0.01, 0.2));
            // More steps than 32 bits can count.
            let all = [warmup..warmup + 3, 1000 * warmup..1000 * warmup + 1, (1 << 32) + 1..(1 << 32) + 2];
            all.map(|steps| (steps, warmup, base, 256, 32)).to_vec()
        };
        rises_linearly: "a linear rise",
            "At step t of the warm-up, a share t/warmup of the way from `base` to the scaled rate is done." => |d| {
            let (warmup, base) = (d.whole(4, 8) as u64, drawn(d, 0.01, 0.2));
            vec![(1..warmup, warmup, base, 256, 32), (0..3, 1, base, 256, 32)]
        };
        accepts_any_two_batch_sizes: "base·batch/reference",
            "batch/reference may be a fraction, also below 1: divide as f64, round nothing, limit nothing." => |d| {
            let (reference, base) = (d.whole(60, 90), drawn(d, 0.01, 0.2));
            // 2.6 to 2.9 times, so that rounding is not rounding down; then a smaller one.
            let batch = 2 * reference + d.whole(6, 9) * reference / 10;
            vec![(2..6, 4, base, batch, reference), (2..6, 4, base, d.whole(8, 28), reference)]
        };
        starts_at_the_scaled_rate_without_warm_up: "from step `warmup` on",
            "If `warmup` is 0, step 0 already has the scaled rate; do not divide by 0." =>
            |d| vec![(0..3, 0, drawn(d, 0.01, 0.2), 128, 32)];
    }
};

pub const MISTAKES: &[Mistake<Lesson07>] = mistakes! { "7.1" scaled_warmup;
    1 "The warm-up starts at 0; it should start at the base rate.";
    2 "The ratio is inverted: a larger batch has a larger rate.";
    3 "The integer division rounds down: convert both to f64 first.";
};
