//! Laser-scanned trees: file formats, data sets as they are downloaded, and a virtual forest.
//!
//! The lowest layer of Canopy, without tensors. A [`Cloud`] is points in metres with their attributes; a [`Dataset`] is
//! labelled clouds with the plot of each.

pub mod atomic;
pub mod builtin;
mod cloud;
mod dataset;
mod extent;
pub mod fetch;
pub mod formats;
mod growth;
pub mod import;
mod open;
mod partial;
mod random;
pub mod sample;
mod scanner;
pub mod shard;
mod species;
pub mod split;

pub use cloud::{Cloud, Return};
pub use dataset::{CloudSource, Dataset, Inventory, Scan, Season, Site, TreeRecord};
pub use open::{cache_folder, open};
pub use random::{Philox, Purpose};
