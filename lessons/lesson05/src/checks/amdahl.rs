use grader::{Draw, Verdict, draw, given};

use super::refuse::{apart, near, refuse, two};
use crate::Lesson05;

/// What a check expects of one call; a field that it does not compare is None.
struct Case {
    share: f64,
    wanted: f64,
    limit: Option<f64>,
    needed: Option<Option<f64>>,
}

/// Compares the calls one by one.
fn check(answer: &Lesson05, cases: &[Case]) -> Verdict {
    for case in cases {
        let input = format!("share {}, wanted {}", case.share, case.wanted);
        given(&input);
        let got = (answer.amdahl)(case.share, case.wanted);
        if let Some(limit) = case.limit
            && !near(got.limit, limit)
        {
            // Any finite number instead of infinity is one mistake.
            let finite = limit.is_infinite() && got.limit.is_finite();
            let all = vec![if finite { 0.0 } else { got.limit }];
            return refuse(input, "limit", apart(limit, got.limit), all);
        }
        let lines = match (case.needed, got.needed) {
            (None, _) | (Some(None), None) => continue,
            (Some(Some(a)), Some(b)) if near(b, a) => continue,
            (Some(Some(a)), Some(b)) => apart(a, b),
            (Some(a), b) => {
                let shown =
                    |n: Option<f64>| n.map_or("None".into(), |n| format!("Some({})", grader::number(n)));
                two(shown(a), shown(b))
            }
        };
        return refuse(input, "needed", lines, vec![got.needed.unwrap_or(f64::NAN)]);
    }
    Ok(())
}

fn limit(share: f64, wanted: f64, limit: f64) -> Case {
    Case {
        share,
        wanted,
        limit: Some(limit),
        needed: None,
    }
}

fn needed(share: f64, wanted: f64, needed: Option<f64>) -> Case {
    Case {
        share,
        wanted,
        limit: None,
        needed: Some(needed),
    }
}

/// With three decimals, so that it is short.
fn short(draw: &mut Draw, low: f64, high: f64) -> f64 {
    (draw.number(low, high) * 1000.0).round() / 1000.0
}

pub fn computes_the_limit(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let share = short(&mut draw, 0.55, 0.9);
    let rest = 1.0 - share;
    // Below, at and above what can be reached: the limit does not depend on what is wanted.
    let cases = [1.01, 0.9 / rest, 3.0 / rest, 1.0, 0.5].map(|wanted| limit(share, wanted, 1.0 / rest));
    check(answer, &cases)?;
    let shares = [0.0, 0.25, 0.5, 0.995, 0.999_999_75];
    check(
        answer,
        &shares.map(|share| limit(share, 1.01, 1.0 / (1.0 - share))),
    )
}

pub fn computes_the_needed_factor(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let mut of = |low, high| {
        let (share, factor) = (short(&mut draw, 0.35, 0.9), short(&mut draw, low, high));
        // What a part that much faster makes of the whole.
        let wanted = 1.0 / (share / factor + 1.0 - share);
        needed(share, wanted, Some(factor))
    };
    let cases = [of(1.5, 4.0), of(4.0, 20.0), of(1.05, 1.3), of(100.0, 200.0)];
    check(answer, &cases)
}

pub fn is_none_at_the_limit_and_above(answer: &Lesson05) -> Verdict {
    let share = short(&mut draw(), 0.2, 0.7);
    let at = 1.0 / (1.0 - share);
    let cases = [
        (share, 1.1 * at),
        (0.6, 2.75),
        (0.5, 2.0),
        (0.75, 4.0),
        (share, 9.0 * at),
        (0.0, 1.5),
        (0.6, 1e300),
    ];
    check(answer, &cases.map(|(share, wanted)| needed(share, wanted, None)))
}

pub fn is_none_at_a_rounded_limit(answer: &Lesson05) -> Verdict {
    let share = short(&mut draw(), 0.2, 0.9);
    let at = 1.0 / (1.0 - share);
    let cases = [
        (0.8, 5.0),
        (0.9, 10.0),
        (0.6, 2.5),
        (0.95, 20.0),
        (share, at),
        (0.99, 100.0),
        (0.9999, 1e4),
        (0.99999, 1e5),
        // Half of one part in 10⁹ below it.
        (0.5, 2.0 - 1e-9),
    ];
    check(answer, &cases.map(|(share, wanted)| needed(share, wanted, None)))?;
    // One part in 1000 below it, there is a factor.
    let wanted = 0.999 * at;
    let factor = share / (1.0 / wanted - (1.0 - share));
    check(answer, &[needed(share, wanted, Some(factor))])?;
    // One part in 10⁷ below it as well. The formula leaves 8 digits of it, of which 6 are compared.
    let (share, wanted) = (0.5, 2.0 - 2e-7);
    let input = format!("share {share}, wanted {wanted}");
    given(&input);
    let factor = 0.5 / (1.0 / wanted - 0.5);
    match (answer.amdahl)(share, wanted).needed {
        Some(got) if (got - factor).abs() <= 1e-6 * factor => Ok(()),
        Some(got) => refuse(input, "needed", apart(factor, got), vec![got]),
        None => refuse(
            input,
            "needed",
            two("a speed-up of 10 million", "None"),
            vec![f64::NAN],
        ),
    }
}

pub fn is_infinite_for_the_whole_run(answer: &Lesson05) -> Verdict {
    let wanted = short(&mut draw(), 2.0, 9.0);
    let whole = |wanted| Case {
        share: 1.0,
        wanted,
        limit: Some(f64::INFINITY),
        needed: Some(Some(wanted)),
    };
    check(answer, &[whole(wanted), whole(1e6)])
}

pub fn needs_factor_1_without_speed_up(answer: &Lesson05) -> Verdict {
    let mut draw = draw();
    let share = short(&mut draw, 0.3, 0.9);
    let slower = short(&mut draw, 0.3, 0.9);
    let cases = [
        (share, slower),
        (share, 1.0),
        (0.0, slower),
        (0.0, 1.0),
        (1.0, slower),
        (share, 0.0),
        (share, -2.0),
        (1.0, 1.0),
    ];
    check(
        answer,
        &cases.map(|(share, wanted)| needed(share, wanted, Some(1.0))),
    )
}
