//! The parts of the experiment.

pub mod functions;
pub mod messages;
pub mod results;
pub mod runs;
