//! The parts of the experiment.

pub mod files;
pub mod leakage;
pub mod padding;
pub mod subsampling;
pub mod waiting;
