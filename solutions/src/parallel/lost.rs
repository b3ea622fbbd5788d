//! A rank that others wait for in vain.

use std::{fmt, time::Duration};

/// Why a message did not arrive or could not be sent: the other rank has ended, or gives no sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The rank that waits.
    pub by: usize,
    /// The rank that it waits for.
    pub rank: usize,
    /// What that rank said last that it was doing.
    pub doing: String,
    /// How long it gave no sign of life although it still ran; none if it had ended.
    pub silent: Option<Duration>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { by, rank, doing, .. } = self;
        match self.silent {
            Some(silent) => write!(
                f,
                "rank {by} waits for rank {rank}, which gave no sign for {:.1} s and was last seen: {doing}",
                silent.as_secs_f64()
            ),
            None => write!(f, "rank {by} waits for rank {rank}, which {doing}"),
        }
    }
}

impl std::error::Error for Lost {}
