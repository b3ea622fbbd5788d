//! The fused operators are held to the plain candle composition in f64, values and every gradient, and to
//! the same bits on any number of threads.

#![allow(clippy::unwrap_used)] // a test that fails on an error says where

mod common;
mod edges;
mod multi_tensor;
mod padding;
mod shared_mlp;
mod transforms;
mod walk;
