//! What lessons share. Their checks: tensors as numbers, and ranks on threads whose calls and messages are recorded. Their
//! experiments: options, tables, and a report.

pub mod experiment;
mod group;
pub mod table;
mod tensors;

pub use group::*;
pub use tensors::{shown, values};
