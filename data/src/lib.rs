//! Laser-scanned trees: file formats, data sets as they are downloaded, and a virtual forest.
//!
//! The ground floor of Canopy. It knows nothing of tensors: a [`Cloud`] is points in metres with what
//! the scanner said of each, a [`Dataset`] is labelled clouds with the plot that each grew on.

pub mod builtin;
mod cloud;
mod dataset;
pub mod growth;
mod random;
pub mod scanner;
pub mod species;

pub use cloud::{Bounds, Cloud, Return};
pub use dataset::{CloudSource, Dataset, Scan, TreeRecord};
pub use random::Philox;
