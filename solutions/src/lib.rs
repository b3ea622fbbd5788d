//! Canopy: tells tree species apart from laser scans with PointNet, on CUDA and CPU.
//!
//! A batch walks once: file → cloud → sample → collate → device → model → loss → gradients → step →
//! metrics → page. Each module is a room with one purpose; `train` is the only one that knows them all.

pub mod cli;
pub mod device;
pub mod kernels;
pub mod loader;
pub mod model;
pub mod optim;
pub mod parallel;
pub mod precision;
pub mod profile;
pub mod report;
pub mod schedule;
pub mod shard;
pub mod target;
pub mod train;
