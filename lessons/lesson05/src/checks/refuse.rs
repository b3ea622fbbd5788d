//! A refusal that carries the results of every input of a check, so that mistakes which give one of them alike are told
//! apart.

use grader::{Finding, Values, Verdict, Wrong};

/// On a scale on which numbers of any size are compared with the same relative tolerance, and infinities are numbers.
fn on_scale(value: f64) -> f64 {
    match value {
        v if v.is_nan() => 7_000.0,
        v if v.is_infinite() => 5_000.0_f64.copysign(v),
        0.0 => 0.0,
        v => (v.abs().ln() + 1_000.0).copysign(v),
    }
}

/// Refuses the result for `input`. `lines` are shown; `all` are the results that a known mistake must give as well for its
/// cause to be reported.
pub fn refuse(input: String, what: &str, lines: Vec<String>, all: Vec<f64>) -> Verdict {
    let all: Vec<f64> = all.into_iter().map(on_scale).collect();
    let shape = [all.len()];
    Err(Finding::Wrong(Box::new(Wrong {
        kind: Default::default(),
        input,
        what: what.to_owned(),
        got: Some(Values::tensor(all, &shape, "f64")),
        lines,
    })))
}

/// Expected and got, one line each.
pub fn two(expected: impl std::fmt::Display, got: impl std::fmt::Display) -> Vec<String> {
    vec![format!("expected  {expected}"), format!("got       {got}")]
}

/// Whether `got` is `expected`, up to rounding.
pub fn near(got: f64, expected: f64) -> bool {
    got == expected || (expected.is_finite() && (got - expected).abs() <= 1e-9 * expected.abs())
}

/// Two numbers with as many digits as they need to differ.
pub fn apart(expected: f64, got: f64) -> Vec<String> {
    let digits = |n: usize| [expected, got].map(|v| format!("{v:.n$e}"));
    let enough = (3..=15).map(digits).find(|[a, b]| a != b);
    let plain = |v: f64| (1e-3..1e7).contains(&v.abs()) && (v - v.round()).abs() < 1e-12;
    let texts = match enough {
        _ if plain(expected) && plain(got) => [expected, got].map(|v| format!("{v:.0}")),
        Some(_) if (grader::number(expected) != grader::number(got)) => [expected, got].map(grader::number),
        Some(texts) => texts,
        None => [expected, got].map(grader::number),
    };
    two(&texts[0], &texts[1])
}
