use canopy::precision::DynamicScaler;
use grader::{Verdict, draw, given};

use crate::Lesson06;

/// Applies the answer to `steps` (true is an overflow), and tests scale and count after each.
fn follow(answer: &Lesson06, start: DynamicScaler, steps: &[bool]) -> Verdict {
    let mut state = start.clone();
    let (mut scale, mut good) = (start.scale, start.good);
    let signs: String = steps.iter().map(|s| if *s { '×' } else { '·' }).collect();
    let case = given(format!(
        "scale 2^{}, {} good steps, interval {}, growth {}, backoff {}; steps {signs} (× is an overflow)",
        start.scale.log2(),
        start.good,
        start.interval,
        start.growth,
        start.backoff
    ));
    for (i, &overflow) in steps.iter().enumerate() {
        (answer.update_scale)(&mut state, overflow);
        if overflow {
            (scale, good) = (scale * start.backoff, 0);
        } else if good + 1 == start.interval {
            let grown = scale * start.growth;
            (scale, good) = (if grown > f64::from(f32::MAX) { scale } else { grown }, 0);
        } else {
            good += 1;
        }
        let step = i + 1;
        case.close(&format!("scale after step {step}"), state.scale, scale)?;
        case.close(&format!("good steps after step {step}"), state.good, good)?;
    }
    Ok(())
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
    let quarter = DynamicScaler {
        backoff: 0.25,
        ..start()
    };
    follow(answer, quarter, &[true, true, true])
}

pub fn grows_after_the_interval(answer: &Lesson06) -> Verdict {
    let nearly = DynamicScaler {
        good: 1998,
        ..DynamicScaler::default()
    };
    follow(answer, nearly, &[false, false])?;
    let fourfold = DynamicScaler {
        growth: 4.0,
        ..start()
    };
    let steps = vec![false; fourfold.interval as usize];
    follow(answer, fourfold, &steps)
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
        scale: 2f64.powi(127),
        growth: 2.0,
        ..start()
    };
    let steps = vec![false; high.interval as usize + 1];
    follow(answer, high, &steps)
}
