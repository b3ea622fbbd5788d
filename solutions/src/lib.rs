//! Canopy classifies tree species in laser scans with PointNet, on CUDA and CPU.
//!
//! A batch goes in one direction: file → cloud → sample → collate → device → model → loss → gradients → step →
//! metrics → page. Each module has one purpose; `train` combines them.

/// Prints a line to standard error. If that is closed or full, the line is lost and the program goes on; `eprintln` would end it.
macro_rules! note {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

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
pub mod search;
pub mod shard;
pub mod split;
pub mod target;
pub mod train;
