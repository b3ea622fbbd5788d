//! The parts of the experiment.

pub mod functions;
mod measure;
pub mod messages;
pub mod processes;
pub mod results;
pub mod runs;
