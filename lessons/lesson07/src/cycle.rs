//! 7.2: one cycle.

use canopy::schedule::OneCycle;
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson07, REFERENCE, answers, drawn};

/// The cycle, the steps.
type Input = (OneCycle, Vec<u64>);

fn steps(answer: &Lesson07, (cycle, steps): Input) -> Verdict {
    let case = given(format!("steps {steps:?} of {cycle:?}"));
    let facts = |lesson: &Lesson07| {
        let at = |&step: &u64| (lesson.one_cycle)(&cycle, step);
        let none = steps.iter().filter(|step| at(step).is_none());
        let (rates, momenta): (Vec<f64>, Vec<f64>) = steps.iter().filter_map(at).unzip();
        let facts = Facts::default().items("steps that are None", none);
        facts.values("rates", &rates).values("momenta", &momenta)
    };
    case.same(facts(answer), facts(&REFERENCE))
}

/// A cycle whose rise ends at a whole step.
fn cycle(d: &mut Draw) -> OneCycle {
    OneCycle {
        // Not the default, 0.3.
        rising: [0.2, 0.4][d.whole(0, 1)],
        first_divisor: drawn(d, 5.0, 30.0),
        last_divisor: drawn(d, 50.0, 2000.0),
        least_momentum: drawn(d, 0.8, 0.86),
        greatest_momentum: drawn(d, 0.9, 0.97),
        ..OneCycle::new(drawn(d, 0.1, 0.9), 10 * d.whole(2, 5) as u64)
    }
}

/// A cycle, and some of its steps.
fn of(d: &mut Draw, steps: fn(&OneCycle) -> Vec<u64>) -> Vec<Input> {
    let cycle = cycle(d);
    vec![(cycle.clone(), steps(&cycle))]
}

pub const CHECKS: &[Check<Lesson07>] = rows! { "7.2";
    by steps {
        starts_with_low_rate_and_high_momentum: "counted from 0",
            "At step 0 the rate is max/first_divisor, in f64, and the momentum is this cycle's `greatest_momentum`." =>
            |d| of(d, |_| vec![0]);
        ends_at_the_final_rate: "at `total − 1`",
            "At step total − 1, the last with a value, the fall is done: rate first/last_divisor, `greatest_momentum`." =>
            |d| of(d, |cycle| vec![cycle.total - 1]);
        follows_half_cosines: "(1 + cos πs)",
            "From 0 to rising·total − 1, and from there to total − 1, each value is b + (a − b)/2·(1 + cos πs)." =>
            |d| of(d, |cycle| (0..cycle.total).collect());
        peaks_between_two_steps: "which may be a fraction",
            "The peak may lie between any two steps: use it as it is. The first step after it is in the fall." => |d| {
            let cycle = cycle(d);
            let of = |(total, rising)| (OneCycle { total, rising, ..cycle.clone() }, (0..total).collect());
            // In the last three, rising·total is 2, the smallest; then it is almost total.
            let between = cycle.rising + 0.7 / cycle.total as f64;
            [(cycle.total, between), (4, 0.5), (8, 0.25), (4, 0.95)].map(of).to_vec()
        };
        is_none_past_its_end: "None from step `cycle.total` on",
            "Steps count from 0: step `cycle.total` and all later ones are None." =>
            |d| of(d, |cycle| vec![cycle.total, cycle.total + 7, 1 << 40]);
    }
};

pub const MISTAKES: &[Mistake<Lesson07>] = mistakes! { "7.2" one_cycle;
    1 "The momentum rises with the rate; it should fall when the rate rises.";
    2 "The rise ends one step late: it ends at step rising·total − 1, because steps are counted from 0.";
    3 "The last rate is max/last_divisor; it should be first/last_divisor.";
    4 "Start and end of each phase are exchanged: at s = 0 the value is a, at s = 1 it is b.";
};
