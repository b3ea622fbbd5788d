use grader::{Verdict, draw, given};

use crate::Lesson07;

pub fn starts_at_the_base_rate(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let mut start = |sizes| {
        let (warmup, base) = (draw.whole(5, 50) as u64, draw.number(0.01, 0.2));
        check(answer, 0..1, warmup, base, sizes)
    };
    start((512, 32))?;
    start((256, 64))
}

pub fn stays_at_the_scaled_rate(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (warmup, base) = (draw.whole(3, 9) as u64, draw.number(0.01, 0.2));
    check(answer, warmup..warmup + 3, warmup, base, (256, 32))?;
    // More steps than 32 bits can count.
    for late in [1000 * warmup, (1 << 32) + 1] {
        check(answer, late..late + 1, warmup, base, (128, 32))?;
    }
    Ok(())
}

pub fn rises_linearly(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (warmup, base) = (draw.whole(4, 8) as u64, draw.number(0.01, 0.2));
    check(answer, 1..warmup, warmup, base, (256, 32))?;
    check(answer, 0..3, 1, base, (256, 32))
}

pub fn accepts_any_two_batch_sizes(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (reference, base) = (draw.whole(60, 90), draw.number(0.01, 0.2));
    // 2.6 to 2.9 times, so that rounding is not rounding down; then a smaller one.
    let batch = 2 * reference + draw.whole(6, 9) * reference / 10;
    check(answer, 2..6, 4, base, (batch, reference))?;
    check(answer, 2..6, 4, base, (draw.whole(8, 28), reference))
}

pub fn starts_at_the_scaled_rate_without_warm_up(answer: &Lesson07) -> Verdict {
    check(answer, 0..3, 0, draw().number(0.01, 0.2), (128, 32))
}

fn check(
    answer: &Lesson07,
    steps: std::ops::Range<u64>,
    warmup: u64,
    base: f64,
    (batch, reference): (usize, usize),
) -> Verdict {
    let expected: Vec<f64> = steps
        .clone()
        .map(|step| {
            let done = if step < warmup {
                step as f64 / warmup as f64
            } else {
                1.0
            };
            let scale = batch as f64 / reference as f64;
            base * (1.0 - done) + base * scale * done
        })
        .collect();
    let case = given(format!(
        "steps {steps:?}, warm-up of {warmup}, base {base:.4}, batch {batch}, reference {reference}"
    ));
    let got: Vec<f64> = steps
        .map(|step| (answer.scaled_warmup)(step, warmup, base, batch, reference))
        .collect();
    case.close("rates", &got, &expected)
}
