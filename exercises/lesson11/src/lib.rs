//! Lesson 11: kernels. Replace the line `TODO` in each `.cu` file next to this one, and each `todo!` here. The comment above a
//! kernel or a function says what it must do.
//!
//! `cargo test -p lesson11` checks the lesson, `cargo test -p lesson11 11.2` one exercise. `cargo course hint 11.2`
//! shows a hint.

use canopy::profile::{Cost, Counted, Machine, Operator};

/// Applies bias, batch norm and ReLU in place to x, `[rows, channels]`: `max((x + bias)·scale + shift, 0)`, with a
/// `bias`, `scale` and `shift` for each channel. Reads and writes each value of x once.
pub fn bias_norm_relu(x: &mut Counted, bias: &[f32], scale: &[f32], shift: &[f32]) {
    todo!("11.7: one loop over the values; which channel has value i?")
}

/// Returns the cost of `chain` over `values` f32 values.
///
/// Unfused, each operator is a kernel that reads values and parameters and writes values; times add up. Fused, one
/// kernel does all, and intermediate values stay in registers.
pub fn chain_cost(chain: &[Operator], values: usize, fused: bool, machine: &Machine) -> Cost {
    todo!("11.8: operations, bytes and the longer of two times for each kernel")
}

// The texts of your kernels, for the checks and the experiment.

pub fn map() -> String {
    include_str!("map.cu").into()
}

pub fn bias_relu() -> String {
    include_str!("bias_relu.cu").into()
}

pub fn block_sum() -> String {
    include_str!("block_sum.cu").into()
}

pub fn max_points() -> String {
    include_str!("max_points.cu").into()
}

pub fn transpose() -> String {
    include_str!("transpose.cu").into()
}

pub fn matmul() -> String {
    include_str!("matmul.cu").into()
}
