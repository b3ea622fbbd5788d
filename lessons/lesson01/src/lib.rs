//! Lesson 01: gradient descent by hand.

mod adam;
mod answers;
mod iterations;
mod loss;
mod momentum;
mod neuron;
mod right;
mod sgd;
mod steps;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use candle_core::{Result, Tensor, Var};
use canopy::{
    kernels, loader,
    optim::{self, AdamConfig, AdamState},
};

/// A loss of logits and labels.
type CrossEntropy = fn(&Tensor, &Tensor) -> Result<Tensor>;

grader::contract! {
    pub struct Lesson01 of exercise01 with neuron, loss, sgd, momentum, adam, iterations;
    "1.1" neuron: fn(&[f32], &[f32], f32, fn(f32) -> f32) -> f32 = kernels::neuron;
    "1.2" cross_entropy: fn(&Tensor, &Tensor) -> Result<Tensor>
        = |logits, labels| kernels::cross_entropy(logits, labels, 0.0, None);
    "1.3" sgd_step: fn(&[Var], &[Tensor], f64) -> Result<()> = optim::sgd_step;
    "1.4" momentum_step: fn(&[Var], &[Tensor], &[Var], f64, f64) -> Result<()> = optim::momentum_step;
    "1.5" adam_step: fn(&[Var], &[Tensor], &mut AdamState, f64, &AdamConfig) -> Result<()> = optim::adam_step;
    "1.6" iterations: fn(usize, usize, bool) -> usize = loader::iterations;
}
