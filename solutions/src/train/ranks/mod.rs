//! A run of several ranks that share each batch, each with its own copy of the model: threads of this process, or one process
//! each ([`super::Trainer::join`]).
//!
//! Rank 0 is the thread that called [`super::Trainer::run`]: it alone evaluates, saves and reports. The other ranks follow:
//! they go through the same plan, take their share of each batch, and synchronise with rank 0 in batch norm, in the
//! all-reduce of the gradients, and after each step. Two groups of links carry this, so that gradients may be sent while batch norm sums.

mod activity;
mod allocated;
mod average;
mod control;
mod ending;
mod follow;
mod functions;
mod identity;
mod job;
mod links;
pub mod measure;
mod member;
mod memory;
mod sharded;
mod stats;
mod weights;

pub use allocated::Allocated;
pub use functions::RankFunctions;
pub(super) use job::Job;
pub(super) use links::Links;
pub(super) use member::{Member, Requests};
pub use memory::RankMemory;
pub use stats::RankStats;
