use grader::{Verdict, draw, given};

use crate::Lesson08;

fn check_weak(answer: &Lesson08, one: f64, all: f64, expected: f64) -> Verdict {
    let case = given(format!(
        "a step takes {one} s on one rank, {all} s on all, as much work on each"
    ));
    case.close("weak efficiency", (answer.weak_efficiency)(one, all), expected)
}

fn check_strong(answer: &Lesson08, one: f64, all: f64, ranks: usize, expected: f64) -> Verdict {
    let case = given(format!(
        "a step takes {one} s on one rank, {all} s on {ranks} that share it"
    ));
    case.close(
        "strong efficiency",
        (answer.strong_efficiency)(one, all, ranks),
        expected,
    )
}

pub fn weak_scaling_compares_the_times(answer: &Lesson08) -> Verdict {
    check_weak(answer, 0.3, 0.4, 0.75)?;
    // Not exact in f32.
    check_weak(answer, 1.0, 3.0, 1.0 / 3.0)?;
    let mut draw = draw();
    for unit in [1.0, 1e-7, 1e6] {
        let (all, share) = (unit * draw.number(1.0, 3.0), draw.number(0.01, 0.9));
        check_weak(answer, all * share, all, share)?;
    }
    Ok(())
}

pub fn strong_scaling_divides_by_the_ranks(answer: &Lesson08) -> Verdict {
    check_strong(answer, 9.0, 2.5, 4, 0.9)?;
    check_strong(answer, 1.0, 1.0, 3, 1.0 / 3.0)?;
    let mut draw = draw();
    for (unit, most) in [(1.0, 64), (1e-7, 4_096), (1e6, 1_000_000)] {
        let (ranks, one, share) = (
            draw.whole(most / 2, most),
            unit * draw.number(1.0, 9.0),
            draw.number(0.01, 0.9),
        );
        check_strong(answer, one, one / (ranks as f64 * share), ranks, share)?;
    }
    // One rank may be slower in another run, too.
    check_strong(answer, 2.0, 2.5, 1, 0.8)
}

pub fn is_one_without_loss(answer: &Lesson08) -> Verdict {
    let mut draw = draw();
    let (one, ranks) = (draw.number(1.0, 9.0), draw.whole(2, 9));
    check_weak(answer, one, one, 1.0)?;
    check_strong(answer, one, one / ranks as f64, ranks, 1.0)?;
    check_strong(answer, one, one, 1, 1.0)
}

pub fn may_exceed_one(answer: &Lesson08) -> Verdict {
    // A smaller share may fit into a faster cache.
    let mut draw = draw();
    for gain in [draw.number(1.05, 1.3), draw.number(2.0, 3.0)] {
        check_weak(answer, gain, 1.0, gain)?;
        check_strong(answer, 4.0 * gain, 1.0, 4, gain)?;
    }
    Ok(())
}
