//! The algorithms of an all-reduce, as a choice.

use std::sync::Arc;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Link, naive_all_reduce, ring_all_reduce, tree_all_reduce};

/// Which algorithm all-reduce takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// Around a ring.
    #[default]
    Ring,
    /// Up and down a tree.
    Tree,
    /// By way of rank 0.
    Naive,
}

/// An all-reduce of somebody's: replaces `data` by its sum over all ranks, by messages of `link`.
pub type AllReduce = Arc<dyn Fn(&dyn Link, &mut [f32]) -> Result<()> + Send + Sync>;

impl Algorithm {
    /// The algorithm as a function.
    pub fn function(self) -> AllReduce {
        match self {
            Self::Ring => Arc::new(ring_all_reduce),
            Self::Tree => Arc::new(tree_all_reduce),
            Self::Naive => Arc::new(naive_all_reduce),
        }
    }
}
