//! The CUDA sources on an emulated grid: values and gradients are compared with their CPU twins and with f64, at odd sizes, in
//! f32, bf16 and fp16. `tests/gpu` runs them on a GPU in place of the grid.

#![allow(clippy::unwrap_used)] // a test may panic

#[path = "../cases/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod cases;
mod common;
mod emulated;
mod filter;
mod known_bad;
mod low_precision;
mod operators;
mod optimizers;
mod ranks;
mod steps;
