//! The arithmetic of the book's interactive pieces. A page calls these functions, and receives JSON.
//!
//! Formats, bytes, buckets, neurons, optimizers, schedules and clouds are canopy's: [`kernels`], [`loader`], [`parallel`],
//! [`precision`], [`random`], [`schedule`], [`shard`] and [`split`] contain its files.

mod buckets;
mod fits;
mod float;
mod kernels;
mod loader;
mod parallel;
mod pipeline;
mod pointnet;
mod precision;
#[allow(dead_code, reason = "the pieces use a part of canopy-data's functions")]
#[path = "../../../data/src/random.rs"]
mod random;
mod ring;
mod schedule;
mod shard;
mod split;
mod valley;
mod waits;

// canopy's files import canopy-data's random numbers by this name.
extern crate self as canopy_data;
pub use random::Philox;

pub use buckets::gradients;
pub use fits::fits;
pub use float::{float, sum};
pub use pipeline::pipeline;
pub use pointnet::pointnet;
pub use ring::ring;
pub use valley::valley;
pub use waits::waits;

/// Returns `value` as JSON.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("numbers and texts are JSON")
}
