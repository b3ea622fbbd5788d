//! The verdict of a check, and the comparisons that lead to it.

use crate::{
    Values,
    run::note_input,
    tolerance::{Tolerance, greatest, same},
    values::apart,
};

/// The verdict of a check: `Ok` if it passed, or a [`Finding`].
pub type Verdict = Result<(), Finding>;

/// Why a check did not pass.
#[derive(Clone, Debug)]
pub enum Finding {
    /// The answer is wrong.
    Wrong(Box<Wrong>),
    /// The check cannot run here, and why. It is never counted as passed.
    NotRun(String),
}

/// A wrong answer, as it is reported and as it is compared with the known mistakes.
#[derive(Clone, Debug)]
pub struct Wrong {
    /// The input, shortened.
    pub input: String,
    /// What was compared: "output", "loss".
    pub what: String,
    /// The result.
    pub got: Option<Values>,
    /// Expected, got and the first difference, one line each, within 64 columns.
    pub lines: Vec<String>,
    /// What differs.
    pub kind: Kind,
    /// What an answer has wrong whose result differs at this point, if that says more than the check.
    pub cause: Option<&'static str>,
}

/// What differs between a result and the expected one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Numbers, or anything that is not listed below.
    #[default]
    Value,
    /// Their shape.
    Shape,
    /// Their dtype.
    Dtype,
    /// There is an error instead of a result.
    Error,
}

impl<E: std::error::Error> From<E> for Finding {
    /// An error that the student's function returned.
    fn from(error: E) -> Self {
        let text = error.to_string();
        let first: String = crate::run::without_backtrace(&text)
            .take(2)
            .collect::<Vec<_>>()
            .join(" ");
        Finding::Wrong(Box::new(Wrong {
            input: crate::run::input_now().unwrap_or_default(),
            what: "result".into(),
            got: None,
            lines: vec!["expected  Ok".into(), format!("got       Err: {first}")],
            kind: Kind::Error,
            cause: None,
        }))
    }
}

/// The verdict of a check that cannot run here.
///
/// # Errors
/// Always: the finding itself.
pub fn not_run(reason: impl Into<String>) -> Verdict {
    Err(Finding::NotRun(reason.into()))
}

/// Starts a case. `input` is shown if the answer to it is wrong, if it panics, and if it does not end.
pub fn given(input: impl Into<String>) -> Case {
    let input = input.into();
    note_input(&input);
    Case { input, scale: 0.0 }
}

/// One input of a check, and the comparisons of its result.
pub struct Case {
    input: String,
    scale: f64,
}

impl Case {
    /// The same case with results computed from numbers as large as `scale`, so that they may contain the rounding of these.
    pub fn at_scale(mut self, scale: f64) -> Self {
        self.scale = scale;
        self
    }

    pub(crate) fn wrong(&self, what: &str, got: Option<Values>, lines: Vec<String>) -> Verdict {
        self.wrong_by(Kind::Value, what, got, lines)
    }

    pub(crate) fn wrong_by(
        &self,
        kind: Kind,
        what: &str,
        got: Option<Values>,
        lines: Vec<String>,
    ) -> Verdict {
        // A line may contain an error, and that a backtrace.
        let short = |line: &String| crate::run::without_backtrace(line).collect::<Vec<_>>().join(" ");
        Err(Finding::Wrong(Box::new(Wrong {
            input: self.input.clone(),
            what: what.into(),
            got,
            lines: lines.iter().map(short).collect(),
            kind,
            cause: None,
        })))
    }

    /// Tests that `got` has the shape and dtype of `expected`, and is close to it by the tolerance of that dtype.
    ///
    /// # Errors
    /// The finding, with the first difference.
    pub fn close(&self, what: &str, got: impl Into<Values>, expected: impl Into<Values>) -> Verdict {
        let (got, expected) = (got.into(), expected.into());
        if got.shape != expected.shape || got.dtype != expected.dtype {
            let head = |v: &Values| {
                match v.shape.as_slice() {
                    [] => format!("one number of {}", v.dtype),
                    // The contents of a list say more than its length.
                    [_] if v.dtype == "integer" => v.short(48),
                    shape => format!("shape {shape:?} of {}", v.dtype),
                }
            };
            let lines = vec![
                format!("expected  {}", head(&expected)),
                format!("got       {}", head(&got)),
            ];
            // The length of a list follows from what is in it.
            let kind = match (got.shape.len(), expected.shape.len()) {
                _ if got.dtype != expected.dtype => Kind::Dtype,
                (1, 1) => Kind::Value,
                _ => Kind::Shape,
            };
            return self.wrong_by(kind, what, Some(got), lines);
        }
        let lines = differences(&got, &expected, greatest(&expected).max(100.0 * self.scale));
        if lines.is_empty() {
            return Ok(());
        }
        self.wrong(what, Some(got), lines)
    }

    /// Tests that two values without numbers are equal.
    ///
    /// # Errors
    /// The finding.
    pub fn equal<T: PartialEq + std::fmt::Debug>(&self, what: &str, got: T, expected: T) -> Verdict {
        if got == expected {
            return Ok(());
        }
        let lines = vec![format!("expected  {expected:?}"), format!("got       {got:?}")];
        self.wrong(what, None, lines)
    }

    /// Tests a condition; `otherwise` describes the result if it is false.
    ///
    /// # Errors
    /// The finding.
    pub fn require(&self, what: &str, condition: bool, otherwise: impl Into<String>) -> Verdict {
        if condition {
            return Ok(());
        }
        self.wrong(what, None, vec![format!("got       {}", otherwise.into())])
    }
}

/// The differences of `got` from `expected`, of the same shape; empty if it is close. `size` is that of
/// [`Tolerance::allowed`].
fn differences(got: &Values, expected: &Values, size: f64) -> Vec<String> {
    let tolerance = Tolerance::of(expected.dtype);
    let pairs = || got.numbers.iter().zip(&expected.numbers).enumerate();
    let wrong = |&(_, (&g, &e)): &(usize, (&f64, &f64))| !same(g, e, tolerance.allowed(e, size));
    let Some((first, (&g, &e))) = pairs().find(wrong) else {
        return Vec::new();
    };
    let off = |g: f64, e: f64| {
        let distance = (g - e).abs();
        if distance.is_nan() {
            f64::INFINITY
        } else {
            distance
        }
    };
    if expected.shape.is_empty() {
        let [of_expected, of_got] = apart(e, g);
        let mut lines = vec![format!("expected  {of_expected}"), format!("got       {of_got}")];
        if expected.dtype != "integer" {
            lines.push(error_line(off(g, e), "", tolerance.allowed(e, size)));
        }
        return lines;
    }
    let count = pairs().filter(wrong).count();
    let mut lines = around(got, expected, first);
    lines.push(format!(
        "first at  {}; {count} of {} differ",
        expected.index(first),
        expected.numbers.len()
    ));
    if expected.dtype != "integer" {
        // The worst error relative to its tolerance: the largest absolute error may be allowed.
        let share = |(_, (&g, &e)): (usize, (&f64, &f64))| off(g, e) / tolerance.allowed(e, size);
        let most = pairs()
            .filter(wrong)
            .max_by(|&a, &b| share(a).total_cmp(&share(b)));
        let (at, (&g, &e)) = most.unwrap_or((first, (&g, &e)));
        let position = format!(" at {}", expected.index(at));
        lines.push(error_line(off(g, e), &position, tolerance.allowed(e, size)));
    }
    lines
}

fn error_line(worst: f64, position: &str, allowed: f64) -> String {
    let worst = if worst.is_finite() {
        format!("{worst:.1e}")
    } else {
        "not finite".into()
    };
    format!("error     {worst}{position}; allowed {allowed:.0e}")
}

/// Expected above got, in columns, from two numbers before the first difference.
fn around(got: &Values, expected: &Values, first: usize) -> Vec<String> {
    let from = first.saturating_sub(2);
    let (mut top, mut middle, mut low, mut mark) = (
        "at        ".to_owned(),
        "expected  ".to_owned(),
        "got       ".to_owned(),
        " ".repeat(10),
    );
    if from > 0 {
        for line in [&mut top, &mut middle, &mut low] {
            line.push_str("…  ");
        }
        mark.push_str("   ");
    }
    for i in from..expected.numbers.len() {
        let texts = if i == first {
            apart(expected.numbers[i], got.numbers[i])
        } else {
            [expected.text(i), got.text(i)]
        };
        let [of_expected, of_got] = texts;
        let cells = [expected.index(i), of_expected, of_got];
        let width = cells.iter().map(|c| c.chars().count()).max().unwrap_or(1);
        if top.chars().count() + width + 2 > 62 {
            for line in [&mut top, &mut middle, &mut low] {
                line.push('…');
            }
            break;
        }
        for (line, cell) in [&mut top, &mut middle, &mut low].into_iter().zip(&cells) {
            line.push_str(&format!("{cell:>width$}  "));
        }
        let sign = if i == first { "^" } else { " " };
        mark.push_str(&format!("{}  ", sign.repeat(width)));
    }
    let lines = [top, middle, low, mark];
    lines.map(|l| l.trim_end().to_owned()).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(verdict: Verdict) -> Vec<String> {
        match verdict {
            Err(Finding::Wrong(wrong)) => wrong.lines,
            other => panic!("expected a wrong answer, got {other:?}"),
        }
    }

    #[test]
    fn the_first_difference_and_the_greatest_error_are_reported() {
        let expected = Values::tensor(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3], "f32");
        let mut got = expected.clone();
        (got.numbers[3], got.numbers[5]) = (4.5, 16.0);
        let said = lines(given("x").close("output", got, expected)).join("\n");
        assert_eq!(
            said,
            "at        …  [0, 1]  [0, 2]  [1, 0]  [1, 1]  [1, 2]\n\
             expected  …       2       3       4       5       6\n\
             got       …       2       3     4.5       5      16\n\
             \u{20}                            ^^^^^^\n\
             first at  [1, 0]; 2 of 6 differ\n\
             error     1.0e1 at [1, 2]; allowed 1e-4"
        );
    }

    #[test]
    fn an_error_is_reported_without_its_backtrace() {
        let said = lines(given("x").require("result", false, "Err: shape mismatch\n   0: f\n   1: g"));
        assert_eq!(said, ["got       Err: shape mismatch"]);
    }

    #[test]
    fn shapes_and_dtypes_are_compared_before_numbers() {
        let a = Values::tensor(vec![1.0], &[1], "f32");
        let said = lines(given("x").close("loss", a, 1.0f32));
        assert_eq!(
            said,
            ["expected  one number of f32", "got       shape [1] of f32"]
        );
        assert!(given("x").close("loss", 1.0f64, 1.0f32).is_err());
    }

    #[test]
    fn lists_of_another_length_are_shown() {
        let (got, expected): (Vec<usize>, Vec<usize>) = (vec![0, 2, 3], vec![2, 3]);
        assert_eq!(
            lines(given("x").close("indices", &got, &expected)),
            ["expected  2 values: 2, 3", "got       3 values: 0, 2, 3"]
        );
        assert_eq!(
            lines(given("x").close("indices", &Vec::<usize>::new(), &vec![7usize])),
            ["expected  1 value: 7", "got       an empty list"]
        );
    }

    #[test]
    fn every_line_of_a_long_difference_fits_the_screen() {
        let expected: Vec<f64> = (0..500).map(|i| f64::from(i) * 1.2345e-9).collect();
        let got: Vec<f64> = expected.iter().map(|v| -v * 1e18).collect();
        for line in lines(given("x").close("output", &got, &expected)) {
            assert!(line.chars().count() <= 64, "{line}");
        }
    }

    #[test]
    fn a_nan_is_a_wrong_answer() {
        let said = lines(given("x").close("loss", f32::NAN, 0.5f32)).join("\n");
        assert!(said.contains("NaN") && said.contains("not finite"), "{said}");
    }

    #[test]
    fn rounding_is_right() {
        assert!(given("x").close("loss", 0.1f32 + 0.2, 0.3f32).is_ok());
    }
}
