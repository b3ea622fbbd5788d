//! What errors and panics say, and the findings made of them.

use std::any::Any;

use anyhow::Result;
use grader::{Finding, Values, Verdict, Wrong};

/// An error and its causes, without the backtrace with which candle's go on where RUST_BACKTRACE is set.
pub fn said(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let lines = text.lines().take_while(|l| !l.trim_start().starts_with("0: "));
    lines.collect::<Vec<_>>().join(" ")
}

pub(super) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_owned()
}

/// A wrong answer. It has the cause of a known mistake with the same `got`, or, without it, with the same `lines`.
///
/// # Errors
/// Always: the finding itself.
pub fn wrong(input: &str, what: &str, got: Option<Values>, lines: Vec<String>) -> Verdict {
    let (input, what) = (input.to_owned(), what.to_owned());
    Err(Box::new(Wrong {
        input,
        what,
        got,
        lines,
        ..Wrong::default()
    }))
}

/// A wrong answer with a text that each student words differently: it has the cause of a known mistake at the same point.
///
/// # Errors
/// Always: the finding itself.
pub fn refused(input: &str, what: &str, said: &str) -> Verdict {
    let any = Values::tensor(Vec::new(), &[0], "integer");
    wrong(input, what, Some(any), vec![format!("got       {said}")])
}

/// The value, or an error as a finding.
///
/// # Errors
/// The finding.
pub fn ok<T>(input: &str, what: &str, result: Result<T>) -> Result<T, Finding> {
    result.map_err(|error| {
        let found = refused(input, what, &format!("Err: {}", said(&error)));
        found.expect_err("always a finding")
    })
}
