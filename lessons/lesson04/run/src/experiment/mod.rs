//! The parts of the experiment.

pub mod memory;
pub mod pieces;
pub mod speed;
pub mod train;
