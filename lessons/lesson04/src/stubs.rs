//! Lesson 04: training on a GPU. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson04` checks the lesson, `cargo test -p lesson04 4.2` one exercise. `cargo course hint 4.2` shows a
//! hint.

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

/// The device that `name` means: `cpu`, `cuda` (the same as `cuda:0`), `cuda:N` or `auto`. `open(N)` opens CUDA device
/// N, or returns the reason why it cannot. Call it at most once, and never for the CPU.
///
/// `auto` is CUDA device 0, or the CPU if that does not open; then `reason` is the reason of `open`. Otherwise `reason`
/// is None. A named device never falls back: if it does not open, the error contains `cuda:N` (`cuda:0` for `cuda`) and
/// the reason. N consists of the digits 0 to 9 only, at least one, and fits a usize; `cuda:007` is device 7.
/// For any other name the error contains the name and the valid ones: `auto, cpu, cuda or cuda:N`.
pub fn choose_device(
    name: &str,
    open: &mut dyn FnMut(usize) -> Result<(), String>,
) -> Result<Settled, String> {
    todo!("4.1: match the name, open, fall back only for auto")
}

/// One training step: forward, loss, backward, clip, optimizer. Returns the loss and the number of correctly classified
/// clouds (those whose greatest logit is the label's; of equal ones, either), each as an f32 tensor of shape `[]`,
/// whatever the network's dtype is. The loss may be detached or not.
///
/// `points` is `[clouds, points, channels]`, `labels` is `[clouds]` (u32). Run the network once on the batch, in
/// `pass`. The loss is `kernels::cross_entropy` with `loss.smoothing` and `loss.class_weights`. If the network returns
/// a feature transform and `loss.orthogonality` is above 0, add `loss.orthogonality` times `orthogonality` of the
/// transform with `kernels::weighted_sum`; gradients do not pass candle's `+`. `model.gradients` of that loss returns
/// the gradients. If `clip` is above 0, call `clip_grad_norm` with it: shorter gradients stay as they are, and nothing
/// is read. Then the optimizer takes one step at `learning_rate`. Do not read any number here: the loss and the count
/// stay on the device, and a NaN loss is no error. Return the first error; the optimizer takes no step after it.
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

/// The probabilities `[clouds, classes]` of points `[clouds, points, channels]`: softmax of the logits over the
/// classes. They are f32, whatever the network's dtype is: convert the logits, then compute. Logits may be large, but
/// are finite.
///
/// Use running statistics and no dropout, so that the result for a cloud does not depend on the other clouds in the
/// batch. The network does not change, and the result is detached from the graph (`track_op()` is false).
pub fn probabilities(model: &PointNet, points: &Tensor) -> Result<Tensor> {
    todo!("4.3: the right pass, detach, softmax")
}

/// The scores of predictions: `truth[i]` is the class of cloud i and `named[i]` its predicted class, both below
/// `classes`. Both lists have the same length.
///
/// `confusion[t][p]` counts the clouds of class t that were predicted as p. `accuracy` is the share of correct
/// predictions. `balanced_accuracy` is the mean recall, correct/(clouds of that class), of the classes that occur in
/// `truth`. `macro_f1` is the mean F1, 2·correct/(clouds of that class + clouds predicted as it), of the classes that
/// occur in `truth`. Without clouds, all three are 0, and `confusion` is `classes` rows of `classes` zeros. Compute in
/// f64.
pub fn scores(truth: &[u32], named: &[u32], classes: usize) -> Scores {
    todo!("4.4: the matrix first, the scores from it")
}

/// The mean loss of an epoch, Σ clouds·loss / Σ clouds, which is NaN if a loss is; 0 for an epoch without steps.
///
/// Each item of `steps` is a training step, which runs when you ask for the item: its mean loss, which the device may
/// still be computing, and its number of clouds, at least 1. Ask for each step once. If a step fails, return its error
/// at once: take no further step, and do not wait. Wait only once: `read` and `read_all` of [`OnDevice`] wait until the
/// device has done all its work; `plus` and `times` do not wait. Never wait between two steps.
pub fn mean_loss(
    steps: &mut dyn Iterator<Item = candle_core::Result<(OnDevice, u64)>>,
) -> candle_core::Result<f64> {
    todo!("4.5: take all steps, then wait once")
}

/// The largest batch whose step needs at most `budget` bytes, and the bytes that it needs; None if not even 2 clouds
/// fit, because batch norm cannot learn from one cloud.
///
/// A step needs these bytes; `step.each` has the bytes of one parameter.
/// - `parameters`: the weight and the master copy of each. `gradients` and `optimizer`: of each parameter.
/// - `activations`: `rows` × `kept` of each layer, summed over all layers and clouds.
/// - `passing`: the backward pass needs it for one layer at a time, clouds × the greatest `rows` × `passing` of a layer.
///
/// At least one layer keeps something; others may keep nothing. Count exactly, in u64: the bytes of a batch that fits
/// do not overflow, but those of a larger one may. The budget may be smaller than the parameters. Compute the batch
/// instead of trying one after the other: it may be 10^14.
pub fn largest_batch(step: &StepSize, budget: u64) -> Option<(u64, StepBytes)> {
    todo!("4.6: the bytes without a cloud, the bytes that each cloud adds, how many fit")
}

/// Resumes a run from `saved`. Restores all tensors of the model (`PointNet::from_map`) and of the optimizer
/// (`Optimizer::load_state`). Then it returns the remaining batches of epoch `saved.epoch`, in order. Return the error
/// of a restore that fails.
///
/// The epoch visits `records` in the order of `epoch_order`, by seed and epoch of the run, which contains positions in
/// `records`. `batches` divides it into batches of `size`, and an incomplete last batch is dropped. There is at least
/// one full batch. The first `saved.batch` batches are done, all of them at most; restore in that case, too. Leave them
/// out after the division: `batches` keeps an incomplete batch if it is the only one.
pub fn resume_batches(
    saved: &Saved,
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    records: &[usize],
    size: usize,
) -> Result<Vec<Vec<usize>>> {
    todo!("4.7: weights, statistics, moments; and the rest of the epoch")
}

/// The first of start, start/2, start/4, … (each rounded down) with which `attempt` succeeds. Try the next one only
/// after `Failure::OutOfMemory`.
///
/// Do not try a batch below `least`, nor one of 0: if none is left, the result is `Failure::OutOfMemory`. Any other
/// failure is returned at once and unchanged, whatever its text says, because a smaller batch does not help against it.
/// After the first success, nothing more is tried.
pub fn executable_batch(
    start: usize,
    least: usize,
    attempt: &mut dyn FnMut(usize) -> Result<(), Failure>,
) -> Result<usize, Failure> {
    todo!("4.8: try, halve, try again")
}
