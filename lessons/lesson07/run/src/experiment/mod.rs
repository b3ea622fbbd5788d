//! The parts of the experiment.

pub mod accumulate;
pub mod pieces;
pub mod results;
pub mod schedules;
pub mod train;
