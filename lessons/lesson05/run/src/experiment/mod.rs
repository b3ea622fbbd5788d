//! The parts of the experiment.

pub mod bottlenecks;
pub mod plots;
pub mod queue;
pub mod results;
pub mod roofline;
pub mod rows;
pub mod sources;
