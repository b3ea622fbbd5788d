//! The error of a rank that waits for another rank in vain.

use std::{fmt, time::Duration};

/// A message that did not arrive or could not be sent, because the other rank has exited or has stalled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The rank that waits.
    pub waiting: usize,
    /// The rank that it waits for.
    pub rank: usize,
    /// The last activity that the other rank reported.
    pub doing: String,
    /// How long the other rank has reported nothing although it still runs; `None` if it has exited.
    pub silent: Option<Duration>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            waiting, rank, doing, ..
        } = self;
        match self.silent {
            Some(silent) => write!(
                f,
                "rank {waiting} waits for rank {rank}, which gave no sign of life for {:.1} s; its last activity: {doing}",
                silent.as_secs_f64()
            ),
            None => write!(f, "rank {waiting} waits for rank {rank}, which {doing}"),
        }
    }
}

impl std::error::Error for Lost {}
