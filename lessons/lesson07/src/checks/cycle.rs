use canopy::schedule::OneCycle;
use grader::{Draw, Values, Verdict, draw, given};

use crate::Lesson07;

/// A cycle whose rise ends at a whole step; `total` is a multiple of 10.
fn cycle(draw: &mut Draw) -> OneCycle {
    let total = 10 * draw.whole(2, 5) as u64;
    OneCycle {
        // Not the default, 0.3.
        rising: [0.2, 0.4][draw.whole(0, 1)],
        first_divisor: draw.number(5.0, 30.0),
        last_divisor: draw.number(50.0, 2000.0),
        least_momentum: draw.number(0.8, 0.86),
        greatest_momentum: draw.number(0.9, 0.97),
        ..OneCycle::new(draw.number(0.1, 0.9), total)
    }
}

fn peak(cycle: &OneCycle) -> u64 {
    (cycle.rising * cycle.total as f64).round() as u64 - 1
}

pub fn starts_with_low_rate_and_high_momentum(answer: &Lesson07) -> Verdict {
    check(answer, &cycle(&mut draw()), 0..1)
}

pub fn turns_at_the_peak_rate(answer: &Lesson07) -> Verdict {
    let cycle = cycle(&mut draw());
    let top = peak(&cycle);
    check(answer, &cycle, top - 1..top + 2)
}

pub fn ends_at_the_final_rate(answer: &Lesson07) -> Verdict {
    let cycle = cycle(&mut draw());
    check(answer, &cycle, cycle.total - 1..cycle.total)
}

pub fn follows_half_cosines(answer: &Lesson07) -> Verdict {
    let cycle = cycle(&mut draw());
    check(answer, &cycle, 0..cycle.total)
}

pub fn peaks_between_two_steps(answer: &Lesson07) -> Verdict {
    let cycle = cycle(&mut draw());
    let rising = cycle.rising + 0.7 / cycle.total as f64;
    let between = OneCycle { rising, ..cycle };
    check(answer, &between, 0..between.total)
}

pub fn accepts_the_shortest_phases(answer: &Lesson07) -> Verdict {
    let cycle = cycle(&mut draw());
    // rising·total is 2, the smallest; then it is almost total.
    for (total, rising) in [(4, 0.5), (8, 0.25), (4, 0.95)] {
        let cycle = OneCycle {
            total,
            rising,
            ..cycle.clone()
        };
        check(answer, &cycle, 0..total)?;
    }
    Ok(())
}

pub fn is_none_past_its_end(answer: &Lesson07) -> Verdict {
    let cycle = cycle(&mut draw());
    let steps = [cycle.total, cycle.total + 7, 1 << 40];
    let case = given(format!("steps {steps:?} of {}", shown(&cycle)));
    let some = steps
        .into_iter()
        .filter(|&step| (answer.one_cycle)(&cycle, step).is_some());
    case.close(
        "steps that are not None",
        &some.collect::<Vec<u64>>(),
        &Vec::<u64>::new(),
    )
}

fn shown(c: &OneCycle) -> String {
    let number = grader::number;
    format!(
        "a cycle of total {}, rising {}, max {}, first_divisor {}, last_divisor {}, least_momentum {}, greatest_momentum {}",
        c.total,
        number(c.rising),
        number(c.max),
        number(c.first_divisor),
        number(c.last_divisor),
        number(c.least_momentum),
        number(c.greatest_momentum)
    )
}

fn check(answer: &Lesson07, cycle: &OneCycle, steps: std::ops::Range<u64>) -> Verdict {
    let which = if steps.end == steps.start + 1 {
        format!("step {}", steps.start)
    } else {
        format!("steps {} to {}", steps.start, steps.end - 1)
    };
    let case = given(format!(
        "{which} of {}; a row [rate, momentum] for each",
        shown(cycle)
    ));
    let (mut got, mut expected) = (Vec::new(), Vec::new());
    for step in steps.clone() {
        let Some((rate, momentum)) = (answer.one_cycle)(cycle, step) else {
            return case.require(&format!("rate and momentum of step {step}"), false, "None");
        };
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
