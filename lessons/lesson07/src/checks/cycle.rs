use canopy::schedule::OneCycle;
use grader::{Draw, Values, Verdict, draw, given};

use crate::Lesson07;

/// A cycle whose rise ends at a whole step, unless `between`.
fn cycle(draw: &mut Draw, between: bool) -> OneCycle {
    let total = 10 * draw.whole(2, 5) as u64;
    OneCycle {
        rising: if between { 0.3 + 0.5 / total as f64 } else { 0.3 },
        first_divisor: draw.number(5.0, 30.0),
        last_divisor: draw.number(50.0, 2000.0),
        least_momentum: draw.number(0.8, 0.86),
        greatest_momentum: draw.number(0.9, 0.97),
        ..OneCycle::new(draw.number(0.1, 0.9), total)
    }
}

pub fn starts_with_low_rate_and_high_momentum(answer: &Lesson07) -> Verdict {
    check(answer, &cycle(&mut draw(), false), 0..1)
}

pub fn turns_at_the_peak_rate(answer: &Lesson07) -> Verdict {
    let cycle = cycle(&mut draw(), false);
    let top = cycle.total * 3 / 10 - 1;
    check(answer, &cycle, top - 1..top + 2)
}

pub fn ends_at_the_final_rate(answer: &Lesson07) -> Verdict {
    let cycle = cycle(&mut draw(), false);
    check(answer, &cycle, cycle.total - 1..cycle.total)
}

pub fn follows_half_cosines(answer: &Lesson07) -> Verdict {
    let cycle = cycle(&mut draw(), false);
    check(answer, &cycle, 0..cycle.total)
}

pub fn peaks_between_two_steps(answer: &Lesson07) -> Verdict {
    let cycle = cycle(&mut draw(), true);
    check(answer, &cycle, 0..cycle.total)
}

pub fn is_none_past_its_end(answer: &Lesson07) -> Verdict {
    let cycle = cycle(&mut draw(), false);
    let steps = [cycle.total, cycle.total + 7];
    let case = given(format!(
        "steps {steps:?} of a cycle of {}: how many are Some",
        cycle.total
    ));
    let some = steps
        .iter()
        .filter(|&&step| (answer.one_cycle)(&cycle, step).is_some());
    case.close("steps with a rate", some.count(), 0usize)
}

fn check(answer: &Lesson07, cycle: &OneCycle, steps: std::ops::Range<u64>) -> Verdict {
    let case = given(format!(
        "steps {steps:?} of {cycle:?}: a row [rate, momentum] for each"
    ));
    let (mut got, mut expected) = (Vec::new(), Vec::new());
    for step in steps.clone() {
        let (rate, momentum) = (answer.one_cycle)(cycle, step).unwrap_or((f64::NAN, f64::NAN));
        got.extend([rate, momentum]);
        expected.extend(long_way(cycle, step as f64));
    }
    let shape = [(steps.end - steps.start) as usize, 2];
    let list = |numbers| Values::tensor(numbers, &shape, "f64");
    case.close("rate and momentum", list(got), list(expected))
}

fn long_way(c: &OneCycle, step: f64) -> [f64; 2] {
    let first = c.max / c.first_divisor;
    let top = c.rising * c.total as f64 - 1.0;
    // Seen as a share of the way, by the other form of the half cosine: sin².
    let bend = |share: f64| (std::f64::consts::FRAC_PI_2 * share).sin().powi(2);
    if step <= top {
        let up = bend(step / top);
        let momentum = c.greatest_momentum + (c.least_momentum - c.greatest_momentum) * up;
        return [first + (c.max - first) * up, momentum];
    }
    let down = bend((step - top) / (c.total as f64 - 1.0 - top));
    let last = first / c.last_divisor;
    let momentum = c.least_momentum + (c.greatest_momentum - c.least_momentum) * down;
    [last + (c.max - last) * (1.0 - down), momentum]
}
