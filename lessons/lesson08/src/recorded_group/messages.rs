//! What errors and panics of a rank say.

use super::*;

/// An error and its causes, without the backtrace with which candle's go on where RUST_BACKTRACE is set.
pub fn said(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let lines = text.lines().take_while(|l| !l.trim_start().starts_with("0: "));
    lines.collect::<Vec<_>>().join(" ")
}

pub fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_owned()
}
