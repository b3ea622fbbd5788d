//! Checks as rows: the inputs of each, and one function that runs an answer on an input and compares it.

use std::fmt::{Debug, Display};

use crate::{
    Case, Draw, Finding, Values, Verdict, Wrong, draw,
    verdict::{DTYPE, ERROR, compared},
};

/// The checks of an exercise. A row has its name, words of the contract that promise the property, the cause that a student
/// reads if no known mistake is like the answer, and a function that draws the inputs. Each function after `by` takes an answer
/// and one input, and compares what the answer returns, usually with canopy's.
///
/// ```text
/// pub const CHECKS: &[Check<Lesson03>] = rows! { "3.4";
///     by batches {
///         keeps_the_order_within_a_batch: "in the order in which they came",
///             "Do not sort within a batch." =>
///             |draw| vec![(vec![9, 5, 7], vec![1, 0, 2], vec![10], draw.whole(2, 3))];
///     }
/// };
/// ```
#[macro_export]
macro_rules! rows {
    ($exercise:literal; $(by $test:path {
        $($name:ident: $promise:literal, $cause:literal => $inputs:expr;)+
    })+) => {
        &[$($($crate::Check {
            exercise: $exercise,
            name: stringify!($name),
            promise: $promise,
            cause: $cause,
            run: |answer| $crate::each(answer, $test, $inputs),
        }),+),+]
    };
}

/// Tests `answer` on each of the inputs, up to the first that is wrong.
///
/// # Errors
/// The finding.
pub fn each<C, I, T>(
    answer: &C,
    test: fn(&C, I) -> Result<T, Finding>,
    inputs: impl FnOnce(&mut Draw) -> Vec<I>,
) -> Verdict {
    let mut inputs = inputs(&mut draw()).into_iter();
    inputs.try_for_each(|input| test(answer, input).map(drop))
}

/// What an answer did with an input: named facts, in the order in which they are compared. With each is what a student reads if
/// it is the first that differs.
#[derive(Default)]
pub struct Facts(Vec<(Wrong, Fact)>);

enum Fact {
    Values(Values),
    Items(Vec<String>),
    Error(String),
}

impl Facts {
    fn with(mut self, what: impl Into<String>, fact: Fact) -> Self {
        let what = what.into();
        let default = Wrong::default();
        self.0.push((Wrong { what, ..default }, fact));
        self
    }

    /// Numbers, compared within the tolerance of the expected ones' dtype.
    pub fn values(self, what: impl Into<String>, values: impl Into<Values>) -> Self {
        self.with(what, Fact::Values(values.into()))
    }

    /// A list that is compared item by item, as it is printed.
    pub fn items<T: Debug>(self, what: impl Into<String>, items: impl IntoIterator<Item = T>) -> Self {
        let items = items.into_iter().map(|item| format!("{item:?}"));
        self.with(what, Fact::Items(items.collect()))
    }

    /// A text.
    pub fn text(self, what: impl Into<String>, text: impl Into<String>) -> Self {
        self.with(what, Fact::Items(vec![text.into()]))
    }

    /// What an answer has wrong if the last fact is the first that differs, and no known mistake is like it.
    pub fn cause(mut self, cause: &'static str) -> Self {
        if let Some(last) = self.0.last_mut() {
            last.0.cause = Some(cause);
        }
        self
    }

    /// Words of the contract that promise the last fact, if they are others than those of the check.
    pub fn asked(mut self, words: &'static str) -> Self {
        if let Some(last) = self.0.last_mut() {
            last.0.asked = Some(words);
        }
        self
    }

    /// The facts of a value, or that there is an error instead. Two errors are the same, whatever they say.
    pub fn of<T, E: Display>(result: Result<T, E>, facts: impl FnOnce(T) -> Self) -> Self {
        match result {
            Ok(value) => {
                let mut all = Self::default().text("result", "Ok");
                all.0.extend(facts(value).0);
                all
            }
            Err(error) => Self::default().with("result", Fact::Error(error.to_string())),
        }
    }
}

impl Case {
    /// Tests that each of the facts is as expected.
    ///
    /// # Errors
    /// The finding, with the first fact that differs.
    pub fn same(&self, got: Facts, expected: Facts) -> Verdict {
        let (count, all) = (got.0.len(), expected.0.len());
        let mut got = got.0.into_iter();
        for (said, expected) in expected.0 {
            let got = got.next().map_or(Fact::Items(Vec::new()), |(_, got)| got);
            if let Err(mut wrong) = self.same_fact(&said.what, got, expected) {
                // Of numbers of another dtype, that is all that is known.
                if wrong.general != Some(DTYPE) {
                    (wrong.cause, wrong.asked) = (said.cause, said.asked);
                }
                return Err(wrong);
            }
        }
        let otherwise = format!("{count} of them, expected {all}");
        self.require("results", count == all, otherwise)
    }

    fn same_fact(&self, what: &str, got: Fact, expected: Fact) -> Verdict {
        match (got, expected) {
            (Fact::Values(got), Fact::Values(expected)) => self.close(what, got, expected),
            (Fact::Error(_), Fact::Error(_)) => Ok(()),
            (Fact::Items(got), Fact::Items(expected)) => {
                let (all, count) = (expected.len(), got.len());
                let Some(first) = (0..all.max(count)).find(|&i| got.get(i) != expected.get(i)) else {
                    return Ok(());
                };
                let mut lines = compared(from(&expected, first), from(&got, first));
                lines.extend((all > 1).then(|| format!("first at  {first}; {all} expected, {count} came")));
                Err(self.wrong(what, lines))
            }
            (got, expected) => {
                let mut wrong = self.wrong(what, compared(in_a_line(&expected), in_a_line(&got)));
                wrong.general = matches!(got, Fact::Error(_)).then_some(ERROR);
                Err(wrong)
            }
        }
    }
}

fn in_a_line(fact: &Fact) -> String {
    match fact {
        Fact::Values(values) => values.short(48),
        Fact::Error(message) => format!("Err: {message}"),
        Fact::Items(items) => from(items, 0),
    }
}

/// The items from `first` on in a line.
fn from(items: &[String], first: usize) -> String {
    let none = if first == 0 { "none" } else { "no more" }.to_owned();
    let mut text = if first == 0 { String::new() } else { "… ".into() };
    text += items.get(first).unwrap_or(&none);
    for item in items.iter().skip(first + 1) {
        if text.chars().count() + item.chars().count() > 50 {
            return text + " …";
        }
        text += &format!(" {item}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::given;

    fn lines(got: Facts, expected: Facts) -> String {
        let wrong = given("x").same(got, expected).expect_err("the answer is wrong");
        wrong.lines.join("\n")
    }

    #[test]
    fn the_first_item_that_differs_is_shown() {
        let list = |items: &[&[usize]]| Facts::default().items("batches", items.iter());
        let swapped = "expected  … [3, 2] [4]\ngot       … [2, 3] [4]\nfirst at  1; 3 expected, 3 came";
        let [got, expected] = [[2, 3], [3, 2]].map(|pair| list(&[&[1], &pair, &[4]]));
        assert_eq!(lines(got, expected), swapped);
        let shorter = "expected  … [2]\ngot       … no more\nfirst at  1; 2 expected, 1 came";
        assert_eq!(lines(list(&[&[1]]), list(&[&[1], &[2]])), shorter);
    }

    #[test]
    fn an_error_is_not_a_value_and_two_errors_are_the_same() {
        let of = |result: Result<f64, &str>| Facts::of(result, |x| Facts::default().values("loss", x));
        let error = "expected  Ok\ngot       Err: no";
        assert_eq!(lines(of(Err("no")), of(Ok(1.0))), error);
        let value = "expected  Err: no\ngot       Ok";
        assert_eq!(lines(of(Ok(1.0)), of(Err("no"))), value);
        assert!(given("x").same(of(Err("no")), of(Err("never"))).is_ok());
        assert!(lines(of(Ok(2.0)), of(Ok(1.0))).starts_with("expected  1\n"));
    }

    #[test]
    fn the_cause_of_a_fact_does_not_explain_another_dtype() {
        let text = "It ends too early.";
        let facts = |values: Values| Facts::default().values("mask", values).cause(text);
        let same = |got: Values| given("x").same(facts(got), facts(1.0f32.into()));
        let cause = |got| same(got).expect_err("the answer is wrong").cause;
        assert_eq!(cause(0.0f32.into()), Some(text));
        assert_eq!(cause(1.0f64.into()), None);
    }
}
