//! 6.4: the dynamic loss scale.

use canopy::precision::DynamicScaler;
use grader::{Check, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson06, REFERENCE, answers};

/// The scale, growth and backoff, the interval, the count of good steps; and the steps: `·` is good, `×` an overflow.
type Input = (f64, [f64; 2], u32, u32, &'static str);

fn steps(answer: &Lesson06, (scale, [growth, backoff], interval, good, steps): Input) -> Verdict {
    let facts = |lesson: &Lesson06| {
        let mut state = DynamicScaler {
            scale,
            growth,
            backoff,
            interval,
            good,
        };
        let (mut scales, mut goods) = (Vec::new(), Vec::new());
        for sign in steps.chars() {
            (lesson.update_scale)(&mut state, sign == '×');
            // Over the scale at the start, so that the numbers are short, and in f32, as PyTorch keeps the scale.
            scales.push((state.scale / scale) as f32);
            goods.push(state.good);
        }
        let facts = Facts::default().values("scale after each step, over that at the start", &scales);
        facts.values("good after each step", &goods)
    };
    given(format!(
        "scale {scale:?}, growth {growth}, backoff {backoff}, interval {interval}, good {good}; {steps} (×: overflow)"
    ))
    .same(facts(answer), facts(&REFERENCE))
}

pub const CHECKS: &[Check<Lesson06>] = rows! { "6.4";
    by steps {
        backs_off_after_an_overflow: "multiplies the scale by `backoff`",
            "After each overflow, multiply `state.scale` by `state.backoff`, and set `state.good` to 0." => |d| vec![
                (65536.0, [2.0, 0.5], 2000, 0, "××"),
                (2.0, [2.0, 0.5], 5, 0, "×××"),
                (2f64.powi(-130), [2.0, 0.5], 5, 0, "×××"),
                // Growth and backoff are not the inverse of each other.
                (2f64.powi(d.whole(4, 16) as i32), [8.0, 0.25], 5, 0, "×××"),
                (d.number(3.0, 1000.0).round(), [8.0, 0.7], 5, 0, "×××"),
            ];
        grows_after_the_interval: "multiply it by `growth`",
            "Count first; if `state.good` is now `state.interval`, multiply by `growth`, and restart at 0." => |d| vec![
                (65536.0, [2.0, 0.5], 2000, 1998, "···"),
                (2f64.powi(d.whole(4, 16) as i32), [4.0, 0.5], 4, 0, "·········"),
                (2f64.powi(d.whole(4, 16) as i32), [2.0, 0.25], 3, 0, "·······"),
                (d.number(3.0, 1000.0).round(), [1.1, 0.5], 1, 0, "··×·"),
            ];
        resets_the_count_after_an_overflow: "reset `good` to 0",
            "An overflow sets `state.good` to 0, however many good steps came before, and reduces the scale." =>
            |d| vec![(2f64.powi(d.whole(4, 16) as i32), [2.0, 0.25], 5, 0, "····×·····")];
        stays_within_fp32: "exceeds `f32::MAX`",
            "Keep the scale only if the new one is above `f32::MAX`; the count restarts in either case." => |_| vec![
                (2f64.powi(126), [2.0, 0.25], 3, 0, "·······"),
                (f64::from(f32::MAX) / 4.0, [4.0, 0.5], 1, 0, "··×·"),
            ];
    }
};

pub const MISTAKES: &[Mistake<Lesson06>] = mistakes! { "6.4" update_scale;
    1 "The scale is divided by `backoff`; multiply by it.";
    2 "Overflow and good step are swapped.";
    3 "Good steps before an overflow still count; the steps must be consecutive.";
    4 "The scale stops at 1; it may become smaller.";
    5 "An overflow sets the scale back to 65,536; multiply it by `backoff`.";
    6 "The scale grows one step early: count the step first.";
    7 "If the product is beyond the range of f32, the scale stays as it was: neither multiplied, nor the greatest f32.";
};
