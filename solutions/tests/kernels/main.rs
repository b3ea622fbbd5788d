//! The fused operators are tested against the plain candle composition in f64, values and every gradient. Their results are
//! bit-identical on any number of threads.

#![allow(clippy::unwrap_used)] // a test may panic

mod backward;
mod common;
mod edges;
mod multi_tensor;
mod shared_mlp;
mod transforms;
