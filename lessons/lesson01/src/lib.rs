//! Lesson 01: gradient descent by hand.

mod checks;
mod mistakes;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use candle_core::{Result, Tensor, Var};
use canopy::{
    kernels, loader,
    optim::{self, AdamConfig, AdamState},
};
use grader::Lesson;

/// What the lesson asks for; `stubs.rs` says it in words.
#[derive(Clone, Copy)]
pub struct Lesson01 {
    /// 1.1
    pub neuron: fn(&[f32], &[f32], f32, fn(f32) -> f32) -> f32,
    /// 1.2
    pub cross_entropy: fn(&Tensor, &Tensor) -> Result<Tensor>,
    /// 1.3
    pub sgd_step: fn(&[Var], &[Tensor], f64) -> Result<()>,
    /// 1.4
    pub momentum_step: fn(&[Var], &[Tensor], &[Var], f64, f64) -> Result<()>,
    /// 1.5
    pub adam_step: fn(&[Var], &[Tensor], &mut AdamState, f64, &AdamConfig) -> Result<()>,
    /// 1.6
    pub iterations: fn(usize, usize, bool) -> usize,
}

/// The functions of a crate or module that has them all.
macro_rules! answers_of {
    ($from:ident) => {
        Lesson01 {
            neuron: $from::neuron,
            cross_entropy: $from::cross_entropy,
            sgd_step: $from::sgd_step,
            momentum_step: $from::momentum_step,
            adam_step: $from::adam_step,
            iterations: $from::iterations,
        }
    };
}

/// What the student wrote.
#[cfg(feature = "student")]
pub const STUDENT: Lesson01 = answers_of!(exercise01);

/// canopy's own.
pub const REFERENCE: Lesson01 = Lesson01 {
    neuron: kernels::neuron,
    cross_entropy: |logits, labels| kernels::cross_entropy(logits, labels, 0.0, None),
    sgd_step: optim::sgd_step,
    momentum_step: optim::momentum_step,
    adam_step: optim::adam_step,
    iterations: loader::iterations,
};

/// The whole lesson.
pub static LESSON: Lesson<Lesson01> = Lesson {
    manifest: include_str!("../lesson.toml"),
    stubs_text: include_str!("stubs.rs"),
    stubs: answers_of!(stubs),
    reference: REFERENCE,
    checks: checks::CHECKS,
    mistakes: mistakes::MISTAKES,
    right: mistakes::RIGHT,
};
