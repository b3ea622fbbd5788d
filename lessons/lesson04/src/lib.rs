//! Lesson 04: training on a GPU.

mod checks;
mod mistakes;
mod parts;
mod right;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use anyhow::Result;
use candle_core::Tensor;
use canopy::{
    device::{self, Settled},
    kernels::Pass,
    model::PointNet,
    optim::Optimizer,
    train::{
        self, Failure, Loss, OnDevice, Saved, evaluate,
        memory::{self, StepBytes, StepSize},
        metrics::{self, Scores},
    },
};
use grader::Lesson;

/// Opens the CUDA device of a number, or says why it cannot.
pub type Open<'a> = &'a mut dyn FnMut(usize) -> Result<(), String>;

/// Takes a step when asked for it.
pub type Steps<'a> = &'a mut dyn Iterator<Item = candle_core::Result<(OnDevice, u64)>>;

/// Tries a batch size.
pub type Attempt<'a> = &'a mut dyn FnMut(usize) -> Result<(), Failure>;

/// One training step of a model by an optimizer.
pub type TrainStep =
    fn(&PointNet, &mut dyn Optimizer, (&Tensor, &Tensor), &Loss, &Pass, f64, f64) -> Result<(Tensor, Tensor)>;

/// What the lesson asks for; `stubs.rs` says it in words.
#[allow(clippy::type_complexity, reason = "a signature is clearest written out")]
#[derive(Clone, Copy)]
pub struct Lesson04 {
    /// 4.1
    pub choose_device: fn(&str, Open) -> Result<Settled, String>,
    /// 4.2
    pub train_step: TrainStep,
    /// 4.3
    pub probabilities: fn(&PointNet, &Tensor) -> Result<Tensor>,
    /// 4.4
    pub scores: fn(&[u32], &[u32], usize) -> Scores,
    /// 4.5
    pub mean_loss: fn(Steps) -> candle_core::Result<f64>,
    /// 4.6
    pub largest_batch: fn(&StepSize, u64) -> Option<(u64, StepBytes)>,
    /// 4.7
    pub take_up: fn(&Saved, &PointNet, &mut dyn Optimizer, &[usize], usize) -> Result<Vec<Vec<usize>>>,
    /// 4.8
    pub executable_batch: fn(usize, usize, Attempt) -> Result<usize, Failure>,
}

/// The functions of a crate or module that has them all.
macro_rules! answers_of {
    ($from:ident) => {
        Lesson04 {
            choose_device: $from::choose_device,
            train_step: $from::train_step,
            probabilities: $from::probabilities,
            scores: $from::scores,
            mean_loss: $from::mean_loss,
            largest_batch: $from::largest_batch,
            take_up: $from::take_up,
            executable_batch: $from::executable_batch,
        }
    };
}

/// What the student wrote.
#[cfg(feature = "student")]
pub const STUDENT: Lesson04 = answers_of!(exercise04);

/// canopy's own.
pub const REFERENCE: Lesson04 = Lesson04 {
    choose_device: device::choose_device,
    train_step: train::train_step,
    probabilities: |model, points| evaluate::probabilities(model, points, false),
    scores: metrics::scores,
    mean_loss: train::mean_loss,
    largest_batch: memory::largest_batch,
    take_up: |saved, model, optimizer, records, size| {
        train::take_up(saved, model, optimizer, records, size, "the saved run")
    },
    executable_batch: train::executable_batch,
};

/// The whole lesson.
pub static LESSON: Lesson<Lesson04> = Lesson {
    manifest: include_str!("../lesson.toml"),
    stubs_text: include_str!("stubs.rs"),
    stubs: answers_of!(stubs),
    reference: REFERENCE,
    checks: checks::CHECKS,
    mistakes: mistakes::MISTAKES,
    right: right::RIGHT,
};
