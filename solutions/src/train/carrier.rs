//! `anyhow` errors through interfaces that only return candle's.

/// Keeps the first `anyhow` error of closures that may only return candle errors, which hold only its text. Afterwards
/// [`ErrorCarrier::restore`] returns the error with its context and type.
#[derive(Debug, Default)]
pub struct ErrorCarrier(Option<anyhow::Error>);

impl ErrorCarrier {
    /// Converts `result` to a candle result and keeps its error.
    ///
    /// # Errors
    /// Returns the text of `result`'s error.
    pub fn keep<T>(&mut self, result: anyhow::Result<T>) -> candle_core::Result<T> {
        result.map_err(|error| {
            let text = candle_core::Error::msg(format!("{error:#}"));
            self.0.get_or_insert(error);
            text
        })
    }

    /// Returns `result`, with its error replaced by the one that was kept.
    ///
    /// # Errors
    /// Returns the kept error, or `result`'s own if none was kept.
    pub fn restore<T, E: Into<anyhow::Error>>(self, result: Result<T, E>) -> anyhow::Result<T> {
        result.map_err(|error| self.0.unwrap_or_else(|| error.into()))
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn errors_keep_their_type_and_context() {
        let mut carrier = ErrorCarrier::default();
        let failed: candle_core::Result<()> = carrier.keep(Err(std::fmt::Error).context("in step 3"));
        let restored = carrier.restore(failed).unwrap_err();
        assert_eq!(format!("{restored:#}"), format!("in step 3: {}", std::fmt::Error));
        assert!(restored.downcast_ref::<std::fmt::Error>().is_some());
    }
}
