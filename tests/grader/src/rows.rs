//! Checks as rows: the inputs of each, and one function that runs an answer on an input and compares it.

use crate::{Case, Draw, Finding, Values, Verdict, draw, verdict::Kind};

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
        &[$($($crate::row!($exercise $test; $name, $promise, $cause, $inputs)),+),+]
    };
}

/// One row of [`rows!`](macro@crate::rows).
#[doc(hidden)]
#[macro_export]
macro_rules! row {
    ($exercise:literal $test:path; $name:ident, $promise:literal, $cause:literal, $inputs:expr) => {
        $crate::Check {
            exercise: $exercise,
            name: stringify!($name),
            promise: $promise,
            cause: $cause,
            run: |answer| $crate::each(answer, $test, $inputs),
        }
    };
}

/// Tests `answer` on each of the inputs, up to the first that is wrong.
///
/// # Errors
/// The finding.
pub fn each<C, I>(
    answer: &C,
    test: fn(&C, I) -> Verdict,
    inputs: impl FnOnce(&mut Draw) -> Vec<I>,
) -> Verdict {
    inputs(&mut draw())
        .into_iter()
        .try_for_each(|input| test(answer, input))
}

/// What an answer did with an input: named facts, in the order in which they are compared.
#[derive(Default)]
pub struct Facts(Vec<(String, Fact, Option<&'static str>)>);

enum Fact {
    Values(Values),
    Items(Vec<String>),
    Result(Result<(), String>),
}

impl Facts {
    /// Numbers, compared within the tolerance of the expected ones' dtype.
    pub fn values(mut self, what: impl Into<String>, values: impl Into<Values>) -> Self {
        self.0.push((what.into(), Fact::Values(values.into()), None));
        self
    }

    /// A list that is compared item by item, as it is printed.
    pub fn items<T: std::fmt::Debug>(
        mut self,
        what: impl Into<String>,
        items: impl IntoIterator<Item = T>,
    ) -> Self {
        let items = items.into_iter().map(|item| format!("{item:?}")).collect();
        self.0.push((what.into(), Fact::Items(items), None));
        self
    }

    /// A text.
    pub fn text(mut self, what: impl Into<String>, text: impl Into<String>) -> Self {
        self.0.push((what.into(), Fact::Items(vec![text.into()]), None));
        self
    }

    /// What an answer has wrong if the last fact is the first that differs, and no known mistake is like it.
    pub fn cause(mut self, cause: &'static str) -> Self {
        if let Some(last) = self.0.last_mut() {
            last.2 = Some(cause);
        }
        self
    }

    /// The facts of a value, or that there is an error instead. Two errors are the same, whatever they say.
    pub fn of<T, E: std::fmt::Display>(result: Result<T, E>, facts: impl FnOnce(T) -> Self) -> Self {
        let (end, rest) = match result {
            Ok(value) => (Ok(()), facts(value).0),
            Err(error) => (Err(error.to_string()), Vec::new()),
        };
        let mut all = vec![("result".to_owned(), Fact::Result(end), None)];
        all.extend(rest);
        Self(all)
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
        for (what, expected, cause) in expected.0 {
            let got = got.next().map_or(Fact::Items(Vec::new()), |(_, got, _)| got);
            self.same_fact(&what, got, expected)
                .map_err(|finding| match finding {
                    Finding::Wrong(mut wrong) => {
                        wrong.cause = cause;
                        Finding::Wrong(wrong)
                    }
                    other => other,
                })?;
        }
        self.require(
            "results",
            count == all,
            format!("{count} of them, expected {all}"),
        )
    }

    fn same_fact(&self, what: &str, got: Fact, expected: Fact) -> Verdict {
        match (got, expected) {
            (Fact::Values(got), Fact::Values(expected)) => self.close(what, got, expected),
            (Fact::Items(got), Fact::Items(expected)) => self.same_items(what, &got, &expected),
            (Fact::Result(Ok(())), Fact::Result(Ok(()))) | (Fact::Result(Err(_)), Fact::Result(Err(_))) => {
                Ok(())
            }
            (got, expected) => {
                let kind = match (&got, &expected) {
                    (Fact::Result(Err(_)), Fact::Result(Ok(()))) => Kind::Error,
                    _ => Kind::Value,
                };
                let lines = vec![
                    format!("expected  {}", head(&expected)),
                    format!("got       {}", head(&got)),
                ];
                self.wrong_by(kind, what, None, lines)
            }
        }
    }

    fn same_items(&self, what: &str, got: &[String], expected: &[String]) -> Verdict {
        let Some(first) = (0..expected.len().max(got.len())).find(|&i| got.get(i) != expected.get(i)) else {
            return Ok(());
        };
        let mut lines = vec![
            format!("expected  {}", listed(expected, first)),
            format!("got       {}", listed(got, first)),
        ];
        if expected.len() > 1 {
            lines.push(format!(
                "first at  {first}; {} expected, {} came",
                expected.len(),
                got.len()
            ));
        }
        self.wrong(what, None, lines)
    }
}

/// The items from `first` on that fit in a line.
fn listed(items: &[String], first: usize) -> String {
    let mut text = if first > 0 { "… " } else { "" }.to_owned();
    for (i, item) in items.iter().enumerate().skip(first) {
        if i > first && text.chars().count() + item.chars().count() > 50 {
            return text + "…";
        }
        text += item;
        text.push(' ');
    }
    if items.len() <= first {
        text += if first == 0 { "none" } else { "no more" };
    }
    text.trim_end().to_owned()
}

fn head(fact: &Fact) -> String {
    match fact {
        Fact::Values(values) => values.short(48),
        Fact::Items(items) => listed(items, 0),
        Fact::Result(Ok(())) => "Ok".into(),
        Fact::Result(Err(message)) => {
            let first = message.lines().next().unwrap_or_default();
            format!("Err: {}", first.chars().take(48).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::given;

    fn lines(got: Facts, expected: Facts) -> Vec<String> {
        match given("x").same(got, expected) {
            Err(Finding::Wrong(wrong)) => wrong.lines,
            other => panic!("expected a wrong answer, got {other:?}"),
        }
    }

    #[test]
    fn the_first_item_that_differs_is_shown() {
        let list = |items: &[&[usize]]| Facts::default().items("batches", items.iter());
        assert_eq!(
            lines(list(&[&[1], &[2, 3], &[4]]), list(&[&[1], &[3, 2], &[4]])),
            [
                "expected  … [3, 2] [4]",
                "got       … [2, 3] [4]",
                "first at  1; 3 expected, 3 came"
            ]
        );
        assert_eq!(
            lines(list(&[&[1]]), list(&[&[1], &[2]])),
            [
                "expected  … [2]",
                "got       … no more",
                "first at  1; 2 expected, 1 came"
            ]
        );
    }

    #[test]
    fn an_error_is_not_a_value_and_two_errors_are_the_same() {
        let of = |result: Result<f64, &str>| Facts::of(result, |x| Facts::default().values("loss", x));
        assert_eq!(
            lines(of(Err("no")), of(Ok(1.0))),
            ["expected  Ok", "got       Err: no"]
        );
        assert_eq!(
            lines(of(Ok(1.0)), of(Err("no"))),
            ["expected  Err: no", "got       Ok"]
        );
        assert!(given("x").same(of(Err("no")), of(Err("never"))).is_ok());
        assert_eq!(lines(of(Ok(2.0)), of(Ok(1.0)))[0], "expected  1");
    }
}
