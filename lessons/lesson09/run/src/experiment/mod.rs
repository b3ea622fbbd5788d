//! The parts of the experiment.

pub mod network;
pub mod train;
