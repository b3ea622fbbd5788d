//! The parts of the experiment.

pub mod messages;
pub mod pieces;
pub mod results;
pub mod runs;
