//! A run of several ranks that share each batch, each with its own copy of the model: threads of this process, or one process
//! each ([`super::Trainer::join`]).
//!
//! Every rank is a [`super::Trainer`] in the same loop. They go through the same plan, take their shares of each batch, and
//! synchronise in batch norm, in the all-reduce of the gradients, and after each step. Rank 0, the thread or process whose
//! [`super::Trainer::run`] returns the result, alone evaluates, saves and reports. Two groups of links carry this, so that
//! gradients may be sent while batch norm sums.

mod control;
mod ending;
mod functions;
mod job;
pub mod measure;
mod member;
mod reduction;
mod shards;
mod state;
mod stats;
mod weights;

pub(super) use control::Links;
pub use functions::RankFunctions;
pub(super) use job::start_followers;
pub(super) use member::{Member, Requests};
pub use reduction::Reduction;
pub(super) use reduction::{RankShare, clip_and_step};
pub use stats::{RankMemory, RankStats};
