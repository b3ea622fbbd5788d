//! The parts of the experiment.

pub mod forests;
pub mod heads;
pub mod results;
pub mod sites;
pub mod sparse_adam;
pub mod train;
