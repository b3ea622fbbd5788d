//! Laser-scanned trees: file formats, data sets as they are downloaded, and a virtual forest.
//!
//! The ground floor of Canopy. It knows nothing of tensors: a [`Cloud`] is points in metres with what
//! the scanner said of each, a [`Dataset`] is labelled clouds with the plot that each grew on.

pub mod atomic;
pub mod builtin;
mod cache;
mod cloud;
mod dataset;
pub mod fetch;
pub mod formats;
pub mod growth;
pub mod import;
mod open;
mod random;
pub mod sample;
pub mod scanner;
pub mod shard;
pub mod species;
pub mod split;

pub use cache::cache_folder;
pub use cloud::{Bounds, Cloud, Return};
pub use dataset::{CloudSource, Dataset, Scan, TreeRecord};
pub use open::{MOST_POINTS, Opening, open};
pub use random::{Philox, Purpose};
