//! The parts of the experiment.

pub mod accumulate;
pub mod found;
pub mod pieces;
pub mod train;
