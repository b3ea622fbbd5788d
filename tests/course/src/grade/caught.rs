//! A panic as an error, so that one submission does not cost the others their rows.

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Result, anyhow};

/// Runs `work`; its panic is an error.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // What a panic leaves half done is not used again: each submission begins with its own files.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(anyhow!(
            "the grader panicked, please report it: {}",
            text.unwrap_or("without a message")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(caught(|| Ok(1)).unwrap(), 1);
        let texts = [
            caught(|| -> Result<()> { panic!("plain") }),
            caught(|| -> Result<()> { panic!("at {}", 7) }),
        ]
        .map(|result| result.unwrap_err().to_string());
        assert!(
            texts[0].ends_with("report it: plain") && texts[1].ends_with("report it: at 7"),
            "{texts:?}"
        );
    }
}
