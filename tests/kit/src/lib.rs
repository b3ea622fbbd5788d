//! What the checks of lessons share: tensors as numbers, and ranks on threads whose calls and messages are recorded.

mod group;
mod tensors;

pub use group::*;
pub use tensors::{shown, values};
