//! The parts of the experiment.

pub mod found;
pub mod pieces;
pub mod room;
pub mod speed;
pub mod train;
