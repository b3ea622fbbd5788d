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

/// The device of `name`: `cpu`, `cuda:N`, `cuda` (the same as `cuda:0`), or `auto`, which is device 0 if it opens,
/// otherwise the CPU with the reason.
///
/// Call `open` at most once, never for `cpu`. A named device never falls back: its error has `cuda:N` and the reason.
/// Any other name is an error with the name and all valid ones.
pub fn choose_device(
    name: &str,
    open: &mut dyn FnMut(usize) -> Result<(), String>,
) -> Result<Settled, String> {
    todo!("4.1: match the name, open, fall back only for auto")
}

/// Takes one optimizer step at `learning_rate` after one forward pass in `pass`, and reads no number. Returns the loss
/// and the number of correct predictions as f32 tensors of shape `[]`.
///
/// The loss is `kernels::cross_entropy` with `loss.smoothing` and `loss.class_weights`, plus `loss.orthogonality` times
/// the `orthogonality` of any feature transform. If `clip` is above 0, call `clip_grad_norm`. Return the first error.
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

/// The probabilities `[clouds, classes]` of `points` `[clouds, points, channels]` in evaluation mode, detached from the
/// graph: softmax of the logits in f32, whatever the network's dtype is.
pub fn probabilities(model: &PointNet, points: &Tensor) -> Result<Tensor> {
    todo!("4.3: the right pass, detach, softmax")
}

/// The scores of predictions `named[i]` for clouds of class `truth[i]`.
///
/// `confusion[t][p]` counts clouds of class t predicted as p, both below `classes`. `accuracy` is the share of correct
/// predictions. `balanced_accuracy` and `macro_f1` are the means of recall and F1 over the classes in `truth`. Without
/// clouds, all are 0.
pub fn scores(truth: &[u32], named: &[u32], classes: usize) -> Scores {
    todo!("4.4: the matrix first, the scores from it")
}

/// The mean loss of an epoch, Σ clouds·loss / Σ clouds, or 0 without steps.
///
/// Taking an item of `steps` runs a step and returns its loss and clouds. Wait once, after the last step. If a step
/// fails, return its error at once.
pub fn mean_loss(
    steps: &mut dyn Iterator<Item = candle_core::Result<(OnDevice, u64)>>,
) -> candle_core::Result<f64> {
    todo!("4.5: take all steps, then wait once")
}

/// The largest batch whose step needs at most `budget` bytes, and these bytes; None if not even 2 clouds fit.
///
/// Parameters (weight and master), gradients and optimizer take `step.each` per parameter. Each cloud adds
/// Σ `rows`·`kept` over the layers to `activations`, and the greatest `rows`·`passing` of a layer to `passing`. Compute
/// in u64, without trying batches.
pub fn largest_batch(step: &StepSize, budget: u64) -> Option<(u64, StepBytes)> {
    todo!("4.6: the bytes without a cloud, the bytes that each cloud adds, how many fit")
}

/// Restores all tensors of the model (`from_map`) and of the optimizer (`load_state`). If that fails, return the error.
///
/// Returns the remaining batches of epoch `saved.epoch`: `records` in `epoch_order`, in full batches of `size`, without
/// the first `saved.batch`.
pub fn resume_batches(
    saved: &Saved,
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    records: &[usize],
    size: usize,
) -> Result<Vec<Vec<usize>>> {
    todo!("4.7: weights, statistics, moments; and the rest of the epoch")
}

/// The first of start, start/2, start/4, … (each rounded down) with which `attempt` succeeds.
///
/// Halve only after `Failure::OutOfMemory`; any other failure is returned at once. Do not try a batch below `least`,
/// nor 0: if none is left, return `OutOfMemory`.
pub fn executable_batch(
    start: usize,
    least: usize,
    attempt: &mut dyn FnMut(usize) -> Result<(), Failure>,
) -> Result<usize, Failure> {
    todo!("4.8: try, halve, try again")
}
