//! A rank that others wait for in vain.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// Why a message did not come, or could not be sent: the other rank has ended, or gives no sign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Who waits.
    pub by: usize,
    /// For whom.
    pub rank: usize,
    /// What that one said last.
    pub doing: String,
    /// It still ran but gave no sign for so long; none where it had ended.
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
