//! The parts of the experiment.

pub mod memory;
pub mod train;
