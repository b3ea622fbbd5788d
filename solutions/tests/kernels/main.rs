//! The fused operators are tested against the plain candle composition in f64, values and every gradient. Their results are
//! bit-identical on any number of threads.

#![allow(clippy::unwrap_used)] // a test may panic

mod backward;
#[path = "../cases/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod cases;
mod edges;
mod multi_tensor;
mod shared_mlp;
mod transforms;
