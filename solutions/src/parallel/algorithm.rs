//! Choosing the algorithm of an all-reduce.

use std::sync::Arc;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Link, naive_all_reduce, ring_all_reduce, tree_all_reduce};

/// An all-reduce algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// [`ring_all_reduce`]: bandwidth-optimal, for long messages.
    #[default]
    Ring,
    /// [`tree_all_reduce`]: few steps, for short messages.
    Tree,
    /// [`naive_all_reduce`]: rank 0 sums for all.
    Naive,
}

/// An all-reduce function: replaces `data` by its sum over all ranks, using messages over the link.
pub type AllReduce = Arc<dyn Fn(&dyn Link, &mut [f32]) -> Result<()> + Send + Sync>;

impl Algorithm {
    /// Returns the function that implements the algorithm.
    pub fn function(self) -> AllReduce {
        match self {
            Self::Ring => Arc::new(ring_all_reduce),
            Self::Tree => Arc::new(tree_all_reduce),
            Self::Naive => Arc::new(naive_all_reduce),
        }
    }
}
