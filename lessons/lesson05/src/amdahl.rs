//! 5.4: Amdahl's law.

use canopy::profile::Amdahl;
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson05, REFERENCE, answers};

/// The share, and the speed-up that is wanted.
type Input = (f64, f64);

fn compared(answer: &Lesson05, (share, wanted): Input) -> Verdict {
    let expected = (REFERENCE.amdahl)(share, wanted);
    // 1/wanted less the rest is near 0 if the factor is great, so that its rounding shows.
    let scale = 1e-6 * expected.needed.unwrap_or(0.0).powi(2);
    let case = given(format!("share {share}, wanted {wanted}")).at_scale(scale);
    let facts = |of: &Amdahl| {
        let limit = Facts::default().values("limit", of.limit);
        let limit =
            limit.cause("The limit is 1/(1 − share), in f64, whatever is wanted: infinite for a share of 1.");
        match of.needed {
            Some(needed) => limit.values("needed", needed),
            None => limit.text("needed", "None"),
        }
    };
    case.same(facts(&(answer.amdahl)(share, wanted)), facts(&expected))
}

/// With three decimals, so that it is short.
fn short(d: &mut Draw, low: f64, high: f64) -> f64 {
    (d.number(low, high) * 1000.0).round() / 1000.0
}

pub const CHECKS: &[Check<Lesson05>] = rows! { "5.4";
    by compared {
        computes_limit_and_factor: "Amdahl's law",
            "The rest takes 1 − share of the 1/wanted: share/(1/wanted − (1 − share)), also near the limit." => |d| {
            // What a part that much faster makes of the whole.
            let by = [(1.5, 4.0), (4.0, 20.0), (1.05, 1.3), (100.0, 200.0)].map(|(low, high)| {
                let (share, factor) = (short(d, 0.35, 0.9), short(d, low, high));
                (share, 1.0 / (share / factor + 1.0 - share))
            });
            [by, [0.25, 0.5, 0.995, 0.999_999_75].map(|share| (share, 1.01))].concat()
        };
        needs_what_is_wanted_for_the_whole_run: "`wanted` times as fast",
            "With a share of 1 the limit is infinite: the part must become `wanted` times as fast." =>
            |d| vec![(1.0, short(d, 2.0, 9.0)), (1.0, 1e6)];
        is_none_at_the_limit_and_above: "otherwise None from",
            "From the limit on, the formula gives an infinite factor, a negative one, or 0: return None." => |d| {
            let share = short(d, 0.2, 0.7);
            let at = 1.0 / (1.0 - share);
            vec![(share, 1.1 * at), (0.6, 2.75), (0.5, 2.0), (0.75, 4.0), (share, 9.0 * at), (0.0, 1.5), (0.6, 1e300)]
        };
        is_none_at_a_rounded_limit: "10⁻⁹",
            "1 − share is rounded: return None if `wanted >= limit * (1.0 - 1e-9)`, and a factor below." => |d| {
            let share = short(d, 0.2, 0.9);
            let at = 1.0 / (1.0 - share);
            vec![
                (share, at), (0.8, 5.0), (0.9, 10.0), (0.6, 2.5), (0.95, 20.0), (0.99, 100.0), (0.9999, 1e4),
                // Half of one part in 10⁹ below it; and one part in 10⁷ and in 1000, where there is a factor.
                (0.99999, 1e5), (0.5, 2.0 - 1e-9), (0.5, 2.0 - 2e-7), (share, 0.999 * at),
            ]
        };
        needs_factor_1_without_speed_up: "for `wanted <= 1`",
            "If `wanted` is 1 or less, return Some(1) before anything else." => |d| {
            let (share, slower) = (short(d, 0.3, 0.9), short(d, 0.3, 0.9));
            let wanted = [slower, 1.0, 0.0, -2.0].map(|wanted| (share, wanted));
            [wanted, [(0.0, slower), (0.0, 1.0), (1.0, slower), (1.0, 1.0)]].concat()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson05>] = mistakes! { "5.4" amdahl;
    1 "The limit is computed from share; the time that remains is 1 − share.";
    2 "The limit is the speed-up for a part that takes no time, not for one that is `wanted` times as fast.";
    3 "The part gets the speed-up of the whole; it needs a greater one, because the rest does not change.";
    4 "This is the speed-up of the whole if the part is `wanted` times as fast; the exercise is the reverse.";
    5 "The share and the rest are swapped.";
    6 "This is the share of its time that the part may keep; the speed-up is the reciprocal.";
    7 "The share is missing: the part takes `share` of the run now, not all of it.";
};
