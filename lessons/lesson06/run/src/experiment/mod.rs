//! The parts of the experiment.

pub mod layers;
pub mod pieces;
pub mod results;
pub mod train;
pub mod ways;
