//! The parts of the experiment.

pub mod found;
pub mod messages;
pub mod pieces;
pub mod runs;
