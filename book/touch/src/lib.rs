//! The arithmetic of the book's interactive pieces. A page calls these functions, and receives JSON.
//!
//! Formats, bytes, optimizers and schedules are canopy's: [`kernels`], [`precision`], [`schedule`], [`shard`] and
//! [`split`] contain its files.

mod fits;
mod float;
mod kernels;
mod pipeline;
mod precision;
mod ring;
mod schedule;
mod shard;
mod split;
mod valley;
mod waits;

pub use fits::fits;
pub use float::{float, sum};
pub use pipeline::pipeline;
pub use ring::ring;
pub use valley::valley;
pub use waits::waits;

/// Returns `value` as JSON.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("numbers and texts are JSON")
}
