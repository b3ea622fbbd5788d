//! The parts of the experiment.

pub mod changes;
pub mod clouds;
pub mod net;
pub mod plots;
pub mod size;
pub mod train;
