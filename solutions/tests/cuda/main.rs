//! The CUDA sources on an emulated grid: values and gradients are compared with their CPU twins and with f64, at odd sizes, in
//! f32, bf16 and fp16. Not run on a GPU.

#![allow(clippy::unwrap_used)] // a test may panic

mod batch_norm;
mod case;
mod common;
mod device;
mod elementwise;
mod filter;
mod known_bad;
mod loss;
mod max_points;
mod optimizers;
mod transform;
mod widest;
