//! The parts of the experiment.

pub mod census;
pub mod layers;
pub mod results;
pub mod train;
pub mod trainer_parts;
pub mod ways;
