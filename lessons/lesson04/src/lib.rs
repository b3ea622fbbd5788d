//! Lesson 04: training on a GPU.

// The hints' lines as they are shown, which is narrower than rustfmt's.
#[rustfmt::skip]
mod answers;
mod bytes;
mod device;
mod evaluation;
mod figures;
mod networks;
mod resume;
mod right;
mod scores;
mod search;
mod step;
// As handed out: nothing in it is used yet.
#[allow(unused, clippy::todo)]
mod stubs;

use anyhow::Result;
use candle_core::Tensor;
use canopy::{
    device::Settled,
    kernels::Pass,
    model::PointNet,
    optim::Optimizer,
    train::{self, Failure, Loss, OnDevice, Saved, evaluate, memory, metrics},
};

/// Opens the CUDA device of a number, or says why it cannot.
pub type Open<'a> = &'a mut dyn FnMut(usize) -> Result<(), String>;

/// Takes a step when asked for it.
pub type Steps<'a> = &'a mut dyn Iterator<Item = candle_core::Result<(OnDevice, u64)>>;

/// Tries a batch size.
pub type Attempt<'a> = &'a mut dyn FnMut(usize) -> Result<(), Failure>;

/// One training step of a model by an optimizer.
pub type TrainStep =
    fn(&PointNet, &mut dyn Optimizer, (&Tensor, &Tensor), &Loss, &Pass, f64, f64) -> Result<(Tensor, Tensor)>;

grader::contract! {
    pub struct Lesson04 of exercise04 with device, step, evaluation, scores, figures, bytes, resume, search;
    "4.1" choose_device: fn(&str, Open) -> Result<Settled, String> = canopy::device::choose_device;
    "4.2" train_step: TrainStep = train::train_step;
    "4.3" probabilities: fn(&PointNet, &Tensor) -> Result<Tensor>
        = |model, points| evaluate::probabilities(model, points, &Pass::eval());
    "4.4" scores: fn(&[u32], &[u32], usize) -> metrics::Scores = metrics::scores;
    "4.5" mean_loss: fn(Steps) -> candle_core::Result<f64> = train::mean_loss;
    "4.6" largest_batch: fn(&memory::StepSize, u64) -> Option<(u64, memory::StepBytes)> = memory::largest_batch;
    "4.7" resume_batches: fn(&Saved, &PointNet, &mut dyn Optimizer, &[usize], usize) -> Result<Vec<Vec<usize>>>
        = |saved, model, optimizer, records, size| {
            train::resume_batches(saved, model, optimizer, records, size, "the saved run")
        };
    "4.8" executable_batch: fn(usize, usize, Attempt) -> Result<usize, Failure> = train::executable_batch;
}
