//! The parts of the experiment.

pub mod draw;
pub mod forest;
pub mod found;
pub mod queue;
pub mod rows;
pub mod sick;
pub mod under;
