//! Lesson 02: PointNet.

mod answers;
mod clouds;
mod jitter;
mod max_points;
mod normalise;
mod orthogonality;
mod right;
mod shared_layer;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;
mod survivors;
mod tensors;
mod to_matrix;
mod turn;

use candle_core::{Result, Tensor};
use canopy::{kernels, loader, model};
use canopy_data::Philox;

grader::contract! {
    pub struct Lesson02 of exercise02
    with normalise, shared_layer, max_points, to_matrix, orthogonality, turn, jitter, survivors;
    "2.1" normalise: fn(&mut [[f32; 3]]) = loader::normalise;
    "2.2" shared_layer: fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor> = kernels::shared_layer;
    "2.3" max_points: fn(&Tensor) -> Result<Tensor> = kernels::max_points;
    "2.4" to_matrix: fn(&Tensor, usize) -> Result<Tensor> = kernels::add_identity;
    "2.5" orthogonality: fn(&Tensor) -> Result<Tensor> = kernels::orthogonality;
    "2.6" turn: fn(&mut [[f32; 3]], f64) = loader::turn;
    "2.7" jitter: fn(&mut [[f32; 3]], f32, &mut Philox) = loader::jitter;
    "2.8" survivors: fn(&Tensor) -> Result<Vec<usize>> = model::survivors;
}
