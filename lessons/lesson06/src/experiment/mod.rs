//! The parts of the experiment.

pub mod found;
pub mod layers;
pub mod pieces;
pub mod train;
pub mod ways;
