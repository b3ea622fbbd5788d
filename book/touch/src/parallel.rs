//! canopy's buckets and its costs of messages.
#![allow(dead_code, reason = "the pieces use a part of canopy's functions")]

#[path = "../../../solutions/src/parallel/bucket.rs"]
mod bucket;
#[path = "../../../solutions/src/parallel/cost.rs"]
mod cost;

pub use bucket::{BucketSizes, buckets};
pub use cost::{Cost, ring_seconds};
