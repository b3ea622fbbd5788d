use canopy::precision::DynamicScaler;
use grader::{Verdict, draw, given};

use crate::Lesson06;

/// Applies the answer to `steps` (true is an overflow), and compares scale and count after each.
fn follow(answer: &Lesson06, start: DynamicScaler, steps: &[bool]) -> Verdict {
    let (mut scale, mut good) = (start.scale, start.good);
    let signs: String = steps.iter().map(|s| if *s { '×' } else { '·' }).collect();
    let case = given(format!(
        "scale {}, good {}, interval {}, growth {}, backoff {}; steps {signs} (× is an overflow)",
        shown(start.scale),
        start.good,
        start.interval,
        start.growth,
        start.backoff
    ));
    let mut state = start.clone();
    let [mut scales, mut goods] = [(); 2].map(|()| (Vec::new(), Vec::new()));
    for &overflow in steps {
        (answer.update_scale)(&mut state, overflow);
        if overflow {
            (scale, good) = (scale * start.backoff, 0);
        } else if good + 1 == start.interval {
            let grown = scale * start.growth;
            (scale, good) = (if grown > f64::from(f32::MAX) { scale } else { grown }, 0);
        } else {
            good += 1;
        }
        scales.0.push(state.scale);
        scales.1.push(scale);
        goods.0.push(f64::from(state.good));
        goods.1.push(f64::from(good));
    }
    // Divided by the scale at the start: numbers that fit into a column.
    for list in [&mut scales.0, &mut scales.1] {
        list.iter_mut().for_each(|s| *s /= start.scale);
    }
    case.close(
        "scale after each step, over that at the start",
        &scales.0,
        &scales.1,
    )?;
    case.close("good after each step", &goods.0, &goods.1)?;
    let others = |s: &DynamicScaler| vec![s.growth, s.backoff, f64::from(s.interval)];
    case.close("growth, backoff and interval", &others(&state), &others(&start))
}

fn shown(scale: f64) -> String {
    let power = scale.log2();
    if power.fract() == 0.0 {
        format!("2^{power}")
    } else {
        format!("{scale}")
    }
}

fn start() -> DynamicScaler {
    let mut draw = draw();
    DynamicScaler {
        scale: 2f64.powi(draw.whole(4, 16) as i32),
        growth: [2.0, 4.0][draw.whole(0, 1)],
        backoff: [0.5, 0.25][draw.whole(0, 1)],
        interval: draw.whole(3, 6) as u32,
        good: 0,
    }
}

pub fn backs_off_after_an_overflow(answer: &Lesson06) -> Verdict {
    let plain = DynamicScaler::default();
    follow(answer, plain, &[true, true])?;
    // Not the inverse of `backoff`.
    let quarter = DynamicScaler {
        backoff: 0.25,
        growth: 8.0,
        ..start()
    };
    follow(answer, quarter.clone(), &[true, true, true])?;
    let third = DynamicScaler {
        backoff: 0.7,
        scale: draw().number(3.0, 1000.0).round(),
        ..quarter
    };
    follow(answer, third, &[true, true, true])
}

pub fn grows_after_the_interval(answer: &Lesson06) -> Verdict {
    let nearly = DynamicScaler {
        good: 1998,
        ..DynamicScaler::default()
    };
    follow(answer, nearly, &[false, false, false])?;
    let fourfold = DynamicScaler {
        growth: 4.0,
        ..start()
    };
    let steps = vec![false; fourfold.interval as usize];
    follow(answer, fourfold.clone(), &steps)?;
    let each = DynamicScaler {
        growth: 1.1,
        interval: 1,
        scale: draw().number(3.0, 1000.0).round(),
        ..fourfold
    };
    follow(answer, each, &[false, false, true, false])
}

pub fn resets_the_count_after_an_overflow(answer: &Lesson06) -> Verdict {
    let start = start();
    let good = vec![false; start.interval as usize - 1];
    let steps = [good.clone(), vec![true], good, vec![false]].concat();
    follow(answer, start, &steps)
}

pub fn resets_the_count_after_growth(answer: &Lesson06) -> Verdict {
    let start = start();
    let steps = vec![false; 2 * start.interval as usize + 1];
    follow(answer, start, &steps)
}

pub fn stays_within_fp32(answer: &Lesson06) -> Verdict {
    let high = DynamicScaler {
        scale: 2f64.powi(126),
        growth: 2.0,
        ..start()
    };
    let steps = vec![false; 2 * high.interval as usize + 1];
    follow(answer, high.clone(), &steps)?;
    let greatest = DynamicScaler {
        scale: f64::from(f32::MAX) / 4.0,
        growth: 4.0,
        // Not the inverse of `growth`: a growth right after an overflow shows.
        backoff: 0.5,
        interval: 1,
        ..high
    };
    follow(answer, greatest, &[false, false, true, false])
}

pub fn has_no_lower_limit(answer: &Lesson06) -> Verdict {
    let low = DynamicScaler {
        scale: 2.0,
        backoff: 0.5,
        ..start()
    };
    follow(answer, low.clone(), &[true, true, true])?;
    let lower = DynamicScaler {
        scale: 2f64.powi(-130),
        ..low
    };
    follow(answer, lower, &[true, false, true])
}
