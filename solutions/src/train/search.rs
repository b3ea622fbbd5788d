//! Finds an executable batch size by trying, as Hugging Face Accelerate's `find_executable_batch_size`.

use std::fmt;

// ANCHOR: Failure
/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The device or the host ran out of memory.
    OutOfMemory,
    /// Any other error, with its message: a smaller batch would not help.
    Other(String),
}
// ANCHOR_END: Failure

impl Failure {
    /// Classifies an error message of CUDA, candle or Rust's allocator.
    pub fn of(words: &str) -> Self {
        let low = words.to_lowercase();
        let memory = [
            "out of memory",
            "out_of_memory",
            "memory allocation of",
            "cannot allocate memory",
        ];
        match memory.iter().any(|m| low.contains(m)) {
            true => Self::OutOfMemory,
            false => Self::Other(words.trim().to_owned()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory => f.write_str("out of memory"),
            Self::Other(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for Failure {}

/// Returns the first batch size of `start`, `start`/2, `start`/4, … (rounded down) with which `attempt` does not run out of
/// memory.
///
/// # Errors
/// Returns [`Failure::OutOfMemory`] if the next batch size is below `least`. Returns any other failure at once.
pub fn executable_batch(
    start: usize,
    least: usize,
    attempt: &mut dyn FnMut(usize) -> Result<(), Failure>,
) -> Result<usize, Failure> {
    let mut batch = start;
    while batch >= least.max(1) {
        match attempt(batch) {
            Ok(()) => return Ok(batch),
            Err(Failure::OutOfMemory) => batch /= 2,
            Err(other) => return Err(other),
        }
    }
    Err(Failure::OutOfMemory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocation_errors_are_recognised() {
        for (words, failure) in [
            (
                "DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"..\")",
                Failure::OutOfMemory,
            ),
            ("memory allocation of 16777216 bytes failed", Failure::OutOfMemory),
            ("shape mismatch\n", Failure::Other("shape mismatch".into())),
        ] {
            assert_eq!(Failure::of(words), failure, "{words}");
        }
    }
}
