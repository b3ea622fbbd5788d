use canopy::schedule::Decay;
use grader::{Verdict, draw, given};

use crate::Lesson07;

pub fn decays_every_size_steps(answer: &Lesson07) -> Verdict {
    let size = draw().whole(3, 6) as u64;
    let decay = Decay::Step(size);
    check(answer, &decay, 0..1, |_| 0)?;
    check(answer, &decay, 0..4 * size + 1, |step| step / size)
}

pub fn decays_at_a_milestone(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let first = draw.whole(2, 4) as u64;
    let second = first + draw.whole(2, 4) as u64;
    let decay = Decay::Milestones(vec![first, second]);
    check(answer, &decay, 0..first + second + 2, |step| {
        u64::from(step >= first) + u64::from(step >= second)
    })
}

pub fn accepts_milestones_in_any_order(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let a = draw.whole(2, 4) as u64;
    let (b, c) = (a + 2, a + 5);
    for list in [[b, c, a], [c, b, a], [c, a, b]] {
        let decay = Decay::Milestones(list.to_vec());
        check(answer, &decay, 0..c + 2, |step| {
            list.iter().map(|&at| u64::from(step >= at)).sum()
        })?;
    }
    Ok(())
}

pub fn counts_each_milestone(answer: &Lesson07) -> Verdict {
    let at = draw().whole(3, 6) as u64;
    let decay = Decay::Milestones(vec![at, at + 2, at]);
    check(answer, &decay, 0..at + 4, |step| {
        2 * u64::from(step >= at) + u64::from(step >= at + 2)
    })
}

pub fn accepts_no_milestones(answer: &Lesson07) -> Verdict {
    check(answer, &Decay::Milestones(Vec::new()), 0..5, |_| 0)
}

pub fn decays_at_each_step(answer: &Lesson07) -> Verdict {
    check(answer, &Decay::Exponential, 0..9, |step| step)?;
    // More decays than 8 bits can count.
    let mut draw = draw();
    let (gamma, base) = (draw.number(0.995, 0.999), draw.number(0.5, 2.0));
    compare(answer, &Decay::Exponential, 300..301, (gamma, base), |step| step)
}

pub fn accepts_a_size_of_0(answer: &Lesson07) -> Verdict {
    check(answer, &Decay::Step(0), 0..5, |step| step)
}

fn check(
    answer: &Lesson07,
    decay: &Decay,
    steps: std::ops::Range<u64>,
    falls: impl Fn(u64) -> u64,
) -> Verdict {
    let mut draw = draw();
    let both = (draw.number(0.3, 0.8), draw.number(0.5, 2.0));
    compare(answer, decay, steps, both, falls)
}

fn compare(
    answer: &Lesson07,
    decay: &Decay,
    steps: std::ops::Range<u64>,
    (gamma, base): (f64, f64),
    falls: impl Fn(u64) -> u64,
) -> Verdict {
    let case = given(format!(
        "{decay:?}, steps {steps:?}, gamma {gamma:.4}, base {base:.4}"
    ));
    let long_way = |step| (0..falls(step)).fold(base, |rate, _| rate * gamma);
    let expected: Vec<f64> = steps.clone().map(long_way).collect();
    let got: Vec<f64> = steps
        .map(|step| (answer.decayed)(decay, step, gamma, base))
        .collect();
    case.close("rates", &got, &expected)
}
