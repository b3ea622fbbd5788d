//! canopy's count of a rank's memory and traffic.
#![allow(dead_code, reason = "the pieces use a part of canopy's functions")]

#[path = "../../../solutions/src/shard/count.rs"]
mod count;

pub use count::{Stage, bytes_per_rank, numbers_sent};
