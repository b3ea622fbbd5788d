//! The parts of the experiment.

pub mod draw;
pub mod forest;
pub mod found;
pub mod net;
pub mod size;
pub mod train;
pub mod trials;
