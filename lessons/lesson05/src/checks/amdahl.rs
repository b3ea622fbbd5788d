use canopy::profile::Amdahl;
use grader::{Case, Verdict, draw, given};

use crate::Lesson05;

fn ask(answer: &Lesson05, share: f64, wanted: f64) -> (Case, Amdahl) {
    let case = given(format!("share {share:.4}, wanted {wanted:.4}"));
    (case, (answer.amdahl)(share, wanted))
}

fn check_needed(answer: &Lesson05, share: f64, wanted: f64, expected: f64) -> Verdict {
    let (case, got) = ask(answer, share, wanted);
    case.require("needed: a factor", got.needed.is_some(), "None")?;
    case.close("needed", got.needed.unwrap_or(f64::NAN), expected)
}

pub fn computes_the_limit(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    for _ in 0..2 {
        let share = draw.number(0.1, 0.95);
        let (case, got) = ask(answer, share, 1.01);
        case.close("limit", got.limit, 1.0 / (1.0 - share))?;
    }
    Ok(())
}

pub fn computes_the_needed_factor(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    for _ in 0..2 {
        let (share, factor) = (draw.number(0.3, 0.9), draw.number(1.5, 20.0));
        // What a part that much faster makes of the whole.
        let wanted = 1.0 / (share / factor + 1.0 - share);
        check_needed(answer, share, wanted, factor)?;
    }
    Ok(())
}

pub fn is_none_at_the_limit_and_above(answer: &Lesson05) -> Verdict {
    let share = draw().number(0.2, 0.7);
    for (share, wanted) in [(share, 1.1 / (1.0 - share)), (0.5, 2.0), (0.75, 4.0), (0.0, 1.5)] {
        let (case, got) = ask(answer, share, wanted);
        case.require("needed: None", got.needed.is_none(), format!("{:?}", got.needed))?;
    }
    Ok(())
}

pub fn is_infinite_for_the_whole_run(answer: &Lesson05) -> Verdict {
    let wanted = draw().number(2.0, 9.0);
    let (case, got) = ask(answer, 1.0, wanted);
    case.require(
        "limit: infinite",
        got.limit == f64::INFINITY,
        grader::number(got.limit),
    )?;
    check_needed(answer, 1.0, wanted, wanted)
}

pub fn needs_factor_1_without_speed_up(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let share = draw.number(0.2, 0.9);
    for (share, wanted) in [(share, 1.0), (share, draw.number(0.3, 0.9)), (0.0, 1.0)] {
        check_needed(answer, share, wanted, 1.0)?;
    }
    Ok(())
}
