//! Parts of the experiment.

pub mod layers;
pub mod timeline;
pub mod trillion;
