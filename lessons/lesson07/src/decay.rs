//! 7.3: the step family.

use std::ops::Range;

use canopy::schedule::Decay;
use grader::{Check, Draw, Mistake, Verdict, given, mistakes, rows};

use crate::{Lesson07, REFERENCE, answers, drawn};

/// The decay, steps, gamma, base.
type Input = (Decay, Range<u64>, f64, f64);

fn rates(answer: &Lesson07, (decay, steps, gamma, base): Input) -> Verdict {
    let case = given(format!("{decay:?}, steps {steps:?}, gamma {gamma}, base {base}"));
    let of = |lesson: &Lesson07| -> Vec<f64> {
        let rate = |step| (lesson.decayed)(&decay, step, gamma, base);
        steps.clone().map(rate).collect()
    };
    case.close("rates", &of(answer), &of(&REFERENCE))
}

/// The first `steps` steps.
fn first(d: &mut Draw, decay: Decay, steps: u64) -> Input {
    (decay, 0..steps, drawn(d, 0.3, 0.8), drawn(d, 0.5, 2.0))
}

pub const CHECKS: &[Check<Lesson07>] = rows! { "7.3";
    by rates {
        decays_every_size_steps: "`base·gammaᵏ`",
            "k is step/size, rounded down; the rate is base·gammaᵏ, in f64, with a power of gamma alone." => |d| {
            let size = d.whole(3, 6) as u64;
            vec![first(d, Decay::Step(size), 1), first(d, Decay::Step(size), 4 * size + 1)]
        };
        counts_each_milestone: "the number of decays",
            "k counts the entries m with step >= m, in any order; one may be there twice, or none at all." => |d| {
            let a = d.whole(2, 4) as u64;
            let (b, c) = (a + d.whole(2, 4) as u64, a + 5);
            let lists: [&[u64]; 6] = [&[a, b], &[b, c, a], &[c, b, a], &[c, a, b], &[a, b, a], &[]];
            lists.map(|list| first(d, Decay::Milestones(list.to_vec()), c + 2)).to_vec()
        };
        decays_at_each_step: "the number of decays",
            "k is the step itself, of any size; the rate is base·gammaᵏ." => |d| vec![
                first(d, Decay::Exponential, 9),
                // More decays than 8 bits can count.
                (Decay::Exponential, 300..301, drawn(d, 0.995, 0.999), drawn(d, 0.5, 2.0)),
            ];
    }
};

pub const MISTAKES: &[Mistake<Lesson07>] = mistakes! { "7.3" decayed;
    1 "The rate decays at every step; use integer division.";
    2 "gamma is multiplied by the number of decays; raise it to that power.";
    3 "The rate decays one step late: after `size` steps it has already decayed.";
};
