//! Lesson 11: kernels.

// The lines of the hints are as they are shown there.
#[rustfmt::skip]
mod answers;
mod bias_relu;
mod block_sum;
mod chain;
mod fused;
pub mod launch;
mod map;
mod matmul;
mod max_points;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;
mod transpose;
mod verdict;

use canopy::profile::{self, Cost, Counted, Machine, Operator};

grader::contract! {
    pub struct Lesson11 of exercise11 with map, bias_relu, block_sum, max_points, transpose, matmul, fused, chain;
    kernels map, bias_relu, block_sum, max_points, transpose, matmul;
    "11.1" map: fn() -> String = answers::map::<0>;
    "11.2" bias_relu: fn() -> String = answers::bias_relu::<0>;
    "11.3" block_sum: fn() -> String = answers::block_sum::<0>;
    "11.4" max_points: fn() -> String = canopys_max_points;
    "11.5" transpose: fn() -> String = answers::transpose::<0>;
    "11.6" matmul: fn() -> String = answers::matmul::<0>;
    "11.7" bias_norm_relu: fn(&mut Counted, &[f32], &[f32], &[f32]) = profile::bias_norm_relu;
    "11.8" chain_cost: fn(&[Operator], usize, bool, &Machine) -> Cost = profile::chain_cost;
}

/// The kernel of canopy's maximum over the points, with its header.
fn canopys_max_points() -> String {
    let header = include_str!("../../../solutions/src/kernels/values.cuh");
    let kernel = include_str!("../../../solutions/src/kernels/max_points.cu");
    format!("{header}{kernel}").replace("#include \"values.cuh\"", "")
}
