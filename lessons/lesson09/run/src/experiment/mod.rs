//! The parts of the experiment.

pub mod network;
pub mod results;
pub mod train;
pub mod trees;
