//! The verdict of a check, and the comparisons that lead to it.

use std::fmt::Display;

use crate::{
    Values, number,
    run::{in_one_line, now},
};

/// The verdict of a check: `Ok` if it passed.
pub type Verdict = Result<(), Finding>;

/// Why a check did not pass.
pub type Finding = Box<Wrong>;

/// A wrong answer, as it is reported and as it is compared with the known mistakes.
#[derive(Clone, Debug, Default)]
pub struct Wrong {
    /// The input, shortened.
    pub input: String,
    /// What was compared: "output", "loss".
    pub what: String,
    /// The result.
    pub got: Option<Values>,
    /// Expected, got and the first difference, one line each, within 64 columns but for the text of an error.
    pub lines: Vec<String>,
    /// The line of the exercises, of a panic or of what does not end.
    pub at: Option<String>,
    /// What an answer has wrong whatever the check, if that says more: an error, or another shape.
    pub general: Option<&'static str>,
    /// What an answer has wrong whose result differs at this point, if that says more than the check.
    pub cause: Option<&'static str>,
    /// Words of the contract that promise what differs, if they are others than those of the check.
    pub asked: Option<&'static str>,
    /// A web page that shows it, for `--page`.
    pub page: Option<String>,
}

pub(crate) const ERROR: &str = "An error is returned where a value is expected: its message says why.";
const SHAPE: &str = "The numbers have another shape than the contract requires.";
pub(crate) const DTYPE: &str = "The numbers have another dtype than the contract requires.";

impl<E: std::error::Error> From<E> for Finding {
    /// An error that the student's function returned.
    fn from(error: E) -> Self {
        let lines = compared("Ok", format!("Err: {error}"));
        let input = now(|now| now.input.clone()).unwrap_or_default();
        let mut wrong = given(input).wrong("result", lines);
        wrong.general = Some(ERROR);
        wrong
    }
}

/// Starts a case. `input` is shown if the answer to it is wrong, if it panics, and if it does not end.
pub fn given(input: impl Into<String>) -> Case {
    let input = input.into();
    now(|now| now.input.clone_from(&input));
    Case { input, scale: 0.0 }
}

/// The lines of an expected result and of the one that came.
pub(crate) fn compared(expected: impl Display, got: impl Display) -> Vec<String> {
    vec![format!("expected  {expected}"), format!("got       {got}")]
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

    pub(crate) fn wrong(&self, what: &str, lines: Vec<String>) -> Finding {
        let mut wrong = Finding::default();
        (wrong.input, wrong.what) = (self.input.clone(), what.to_owned());
        wrong.lines = lines.iter().map(|line| in_one_line(line)).collect();
        wrong
    }

    /// Tests that `got` has the shape and dtype of `expected`, and is close to it by the tolerance of that dtype.
    ///
    /// # Errors
    /// The finding, with the first difference.
    pub fn close(&self, what: &str, got: impl Into<Values>, expected: impl Into<Values>) -> Verdict {
        let (got, expected) = (got.into(), expected.into());
        let (general, lines) = if got.shape == expected.shape && got.dtype == expected.dtype {
            (None, differences(&got, &expected, self.scale))
        } else {
            let general = match (got.shape.len(), expected.shape.len()) {
                _ if got.dtype != expected.dtype => Some(DTYPE),
                // The length of a list follows from what is in it.
                (1, 1) => None,
                _ => Some(SHAPE),
            };
            (general, compared(head(&expected), head(&got)))
        };
        if lines.is_empty() {
            return Ok(());
        }
        let mut wrong = self.wrong(what, lines);
        (wrong.general, wrong.got) = (general, Some(got));
        Err(wrong)
    }

    /// Tests a condition; `otherwise` describes the result if it is false.
    ///
    /// # Errors
    /// The finding.
    pub fn require(&self, what: &str, condition: bool, otherwise: impl Into<String>) -> Verdict {
        if condition {
            return Ok(());
        }
        let lines = vec![format!("got       {}", otherwise.into())];
        Err(self.wrong(what, lines))
    }
}

/// Shape and dtype; of a list of integers its contents, which say more than its length.
fn head(values: &Values) -> String {
    match values.shape.as_slice() {
        [] => format!("one number of {}", values.dtype),
        [_] if values.dtype == "integer" => values.short(48),
        shape => format!("shape {shape:?} of {}", values.dtype),
    }
}

/// The lines that show the differences of `got` from `expected`, of the same shape; none if it is close.
fn differences(got: &Values, expected: &Values, scale: f64) -> Vec<String> {
    let wrong = got.differences(expected, scale);
    let Some(&first) = wrong.first() else {
        return Vec::new();
    };
    let (count, all, index) = (wrong.len(), expected.numbers.len(), expected.index(first));
    let allowed = expected.allowed(scale);
    let error = |i: usize| (got.numbers[i] - expected.numbers[i]).abs();
    // The largest error relative to its tolerance: the largest absolute error may be allowed.
    let share = |i: &usize| error(*i) / allowed(*i);
    let worst = wrong.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
    let worst = *worst.unwrap_or(&first);
    let (mut lines, at) = if expected.shape.is_empty() {
        let [of_expected, of_got] = apart([expected.numbers[0], got.numbers[0]]);
        (compared(of_expected, of_got), String::new())
    } else {
        let mut lines = around(got, expected, first);
        lines.push(format!("first at  {index}; {count} of {all} differ"));
        (lines, format!(" at {}", expected.index(worst)))
    };
    if expected.dtype != "integer" {
        let (error, allowed) = (error(worst), allowed(worst));
        lines.push(format!("error     {error:.1e}{at}; allowed {allowed:.0e}"));
    }
    lines
}

/// Two numbers that differ, with all their digits if they look the same with seven.
fn apart(both: [f64; 2]) -> [String; 2] {
    let short = both.map(number);
    if short[0] == short[1] {
        return both.map(|x| format!("{x:e}"));
    }
    short
}

/// Expected above got, in columns, from two numbers before the first difference.
fn around(got: &Values, expected: &Values, first: usize) -> Vec<String> {
    let mut lines = ["at      ", "expected", "got     ", "        "].map(String::from);
    let add = |lines: &mut [String; 4], cells: [String; 4], width| {
        for (line, cell) in lines.iter_mut().zip(cells) {
            *line += &format!("  {cell:>width$}");
        }
    };
    let dots = ["…", "…", "…", ""].map(String::from);
    let from = first.saturating_sub(2);
    if from > 0 {
        add(&mut lines, dots.clone(), 1);
    }
    for i in from..expected.numbers.len() {
        let both = [expected.numbers[i], got.numbers[i]];
        let [of_expected, of_got] = if i == first { apart(both) } else { both.map(number) };
        let mut cells = [expected.index(i), of_expected, of_got, String::new()];
        let width = cells.iter().map(|c| c.chars().count()).max().unwrap_or(0);
        if i == first {
            cells[3] = "^".repeat(width);
        } else if i > first && lines[0].chars().count() + width > 58 {
            add(&mut lines, dots, 1);
            break;
        }
        add(&mut lines, cells, width);
    }
    lines.map(|line| line.trim_end().to_owned()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(verdict: Verdict) -> String {
        verdict.expect_err("the answer is wrong").lines.join("\n")
    }

    #[test]
    fn the_first_difference_and_the_greatest_error_are_reported() {
        let expected = Values::tensor(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3], "f32");
        let mut got = expected.clone();
        (got.numbers[3], got.numbers[5]) = (4.5, 16.0);
        assert_eq!(
            lines(given("x").close("output", got, expected)),
            "at        …  [0, 1]  [0, 2]  [1, 0]  [1, 1]  [1, 2]\n\
             expected  …       2       3       4       5       6\n\
             got       …       2       3     4.5       5      16\n\
             \u{20}                            ^^^^^^\n\
             first at  [1, 0]; 2 of 6 differ\n\
             error     1.0e1 at [1, 2]; allowed 1e-4"
        );
        let nan = "expected  0.5\ngot       NaN\nerror     NaN; allowed 1e-5";
        assert_eq!(lines(given("x").close("loss", f32::NAN, 0.5f32)), nan);
        let near = "expected  1e-1\ngot       1.0000000149011612e-1\nerror     1.5e-9; allowed 1e-10";
        assert_eq!(lines(given("x").close("loss", f64::from(0.1f32), 0.1)), near);
    }

    #[test]
    fn shapes_and_dtypes_are_compared_before_numbers() {
        let list = Values::tensor(vec![1.0], &[1], "f32");
        let shapes = "expected  one number of f32\ngot       shape [1] of f32";
        assert_eq!(lines(given("x").close("loss", list, 1.0f32)), shapes);
        assert!(given("x").close("loss", 1.0f64, 1.0f32).is_err());
        let none = given("x").close("indices", &Vec::<usize>::new(), &vec![7usize]);
        assert_eq!(lines(none), "expected  1 value: 7\ngot       an empty list");
    }
}
