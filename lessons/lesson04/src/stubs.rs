//! Lesson 04: training on a GPU. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson04` checks the lesson, `cargo test -p lesson04 4.2` one exercise. `cargo course hint 4.2` shows
//! a hint.

use anyhow::Result;
use candle_core::{DType, Tensor};
use canopy::{
    device::Settled,
    kernels::{self, Pass},
    loader::{batches, epoch_order},
    model::{PointNet, orthogonality},
    optim::{Optimizer, clip_grad_norm},
    train::{
        Failure, Loss, OnDevice, Saved,
        memory::{StepBytes, StepSize},
        metrics::Scores,
    },
};

/// The device of `name`: `cpu`, `cuda:N` (`cuda` is `cuda:0`), or `auto`: device 0 if it opens, otherwise the CPU with
/// the reason.
///
/// Call `open` at most once, never for `cpu`. A named device that does not open is an error with `cuda:N` and the
/// reason; any other name is an error with that name and all valid ones.
pub fn choose_device(
    name: &str,
    open: &mut dyn FnMut(usize) -> Result<(), String>,
) -> Result<Settled, String> {
    todo!("4.1: match the name, open, fall back only for auto")
}

/// Takes one optimizer step after one forward pass in `pass`, and reads no number. Returns the loss and the number of
/// correct predictions as f32 scalars `[]`.
///
/// The loss is `kernels::cross_entropy` by the settings of `loss`, plus, if above 0, `loss.orthogonality` times the
/// `orthogonality` of any feature transform. If `clip` is above 0, call `clip_grad_norm`.
pub fn train_step(
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    (points, labels): (&Tensor, &Tensor),
    loss: &Loss,
    pass: &Pass,
    learning_rate: f64,
    clip: f64,
) -> Result<(Tensor, Tensor)> {
    todo!("4.2: forward, loss, backward, clip, step")
}

/// The probabilities `[clouds, classes]` of `points` in evaluation mode, detached from the graph: softmax of the logits
/// in f32, whatever the network's dtype is.
pub fn probabilities(model: &PointNet, points: &Tensor) -> Result<Tensor> {
    todo!("4.3: the right pass, detach, softmax")
}

/// The scores of predictions `named[i]` for clouds of class `truth[i]`, all below `classes`. The means are over the
/// classes in `truth`.
pub fn scores(truth: &[u32], named: &[u32], classes: usize) -> Scores {
    todo!("4.4: the matrix first, the scores from it")
}

/// The mean loss of an epoch, `Σ clouds·loss / Σ clouds`, or 0 without steps.
///
/// Taking an item `(loss, clouds)` of `steps` runs a step. Wait once, after the last; return an error at once.
pub fn mean_loss(
    steps: &mut dyn Iterator<Item = candle_core::Result<(OnDevice, u64)>>,
) -> candle_core::Result<f64> {
    todo!("4.5: take all steps, then wait once")
}

/// The largest batch whose step needs at most `budget` bytes, and these bytes; None if not even 2 clouds fit.
///
/// Compute in u64, without trying batches.
pub fn largest_batch(step: &StepSize, budget: u64) -> Option<(u64, StepBytes)> {
    todo!("4.6: the bytes without a cloud, the bytes that each cloud adds, how many fit")
}

/// Restores the model (`from_map`) and the optimizer (`load_state`). Returns the remaining batches of the epoch:
/// `records` in `epoch_order`, in full batches of `size`, without the first `saved.batch`.
pub fn resume_batches(
    saved: &Saved,
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    records: &[usize],
    size: usize,
) -> Result<Vec<Vec<usize>>> {
    todo!("4.7: weights, statistics, moments; and the rest of the epoch")
}

/// The first of start, start/2, start/4, … (rounded down; none below `least` or 1) with which `attempt` succeeds,
/// otherwise `Failure::OutOfMemory`. Any other failure is returned at once.
pub fn executable_batch(
    start: usize,
    least: usize,
    attempt: &mut dyn FnMut(usize) -> Result<(), Failure>,
) -> Result<usize, Failure> {
    todo!("4.8: try, halve, try again")
}
