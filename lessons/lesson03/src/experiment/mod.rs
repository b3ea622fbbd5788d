//! The parts of the experiment.

pub mod files;
pub mod found;
pub mod leakage;
pub mod padding;
pub mod thinning;
pub mod waiting;
