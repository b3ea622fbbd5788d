//! `anyhow` errors through interfaces that only return candle's.

/// Keeps the first `anyhow` error of closures that may only return candle errors, of which candle would keep the text
/// alone: afterwards the error comes back whole, with its context and its type.
#[derive(Debug, Default)]
pub struct ErrorCarrier(Option<anyhow::Error>);

impl ErrorCarrier {
    /// `result` as candle's, its error kept.
    ///
    /// # Errors
    /// The text of `result`'s error.
    pub fn keep<T>(&mut self, result: anyhow::Result<T>) -> candle_core::Result<T> {
        result.map_err(|error| {
            let text = candle_core::Error::msg(format!("{error:#}"));
            self.0.get_or_insert(error);
            text
        })
    }

    /// `result` with the error that was kept, if that made it fail.
    ///
    /// # Errors
    /// The kept error, else `result`'s own.
    pub fn restore<T, E: Into<anyhow::Error>>(self, result: Result<T, E>) -> anyhow::Result<T> {
        result.map_err(|error| self.0.unwrap_or_else(|| error.into()))
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn errors_keep_their_type_and_context() {
        let mut carrier = ErrorCarrier::default();
        let failed: candle_core::Result<()> =
            carrier.keep(Err(anyhow::Error::new(std::fmt::Error)).context("in step 3"));
        let restored = carrier.restore(failed).unwrap_err();
        assert_eq!(format!("{restored:#}"), format!("in step 3: {}", std::fmt::Error));
        assert!(restored.downcast_ref::<std::fmt::Error>().is_some());
        let other = ErrorCarrier::default().restore(Err::<(), _>(anyhow!("its own")));
        assert_eq!(other.unwrap_err().to_string(), "its own");
    }
}
