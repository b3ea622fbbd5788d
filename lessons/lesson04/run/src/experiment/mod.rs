//! The parts of the experiment.

pub mod bench;
pub mod memory;
pub mod speed;
pub mod train;
