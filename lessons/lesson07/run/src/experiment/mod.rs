//! The parts of the experiment.

pub mod accumulate;
pub mod directions;
pub mod results;
pub mod schedules;
pub mod stepper;
pub mod train;
