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

/// The device of `name`: `cpu`, `cuda:N`, `cuda` (the same as `cuda:0`) or `auto`. Call `open(N)` at most once, and
/// never for the CPU. `auto` is CUDA device 0, or the CPU if that does not open, with the reason.
///
/// A named device never falls back: the error contains `cuda:N` and the reason. N has only the digits 0 to 9, and fits
/// a usize. Any other name is an error with the name and `auto, cpu, cuda or cuda:N`.
pub fn choose_device(
    name: &str,
    open: &mut dyn FnMut(usize) -> Result<(), String>,
) -> Result<Settled, String> {
    todo!("4.1: match the name, open, fall back only for auto")
}

/// One training step. Returns the loss and the number of correctly classified clouds, each as an f32 tensor of shape
/// `[]`.
///
/// Run the network once, in `pass`. The loss is `kernels::cross_entropy` with `loss.smoothing` and
/// `loss.class_weights`. If `loss.orthogonality` is above 0 and there is a feature transform, add that weight times its
/// `orthogonality` by `kernels::weighted_sum`. Take `model.gradients` of that loss. If `clip` is above 0, call
/// `clip_grad_norm`. Then the optimizer takes one step at `learning_rate`. Do not read the loss. Return the first
/// error.
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
/// classes, computed in f32 whatever the network's dtype is.
///
/// The result for a cloud does not depend on the other clouds in the batch, and is detached from the graph. The network
/// does not change.
pub fn probabilities(model: &PointNet, points: &Tensor) -> Result<Tensor> {
    todo!("4.3: the right pass, detach, softmax")
}

/// The scores of predictions: `truth[i]` is the class of cloud i and `named[i]` its predicted class, both below
/// `classes`.
///
/// `confusion[t][p]` counts the clouds of class t that were predicted as p, in `classes` rows of `classes`. `accuracy`
/// is the share of correct predictions. `balanced_accuracy` is the mean of recall = correct/clouds of the class, and
/// `macro_f1` is the mean of F1 = 2·correct/(clouds + predictions of the class), both over the classes that occur in
/// `truth`. Without clouds, all three are 0.
pub fn scores(truth: &[u32], named: &[u32], classes: usize) -> Scores {
    todo!("4.4: the matrix first, the scores from it")
}

/// The mean loss of an epoch, Σ clouds·loss / Σ clouds: NaN if a loss is, and 0 for an epoch without steps.
///
/// An item of `steps` takes a training step when you ask for it, and returns its loss, still on the device, and its
/// clouds. If a step fails, return its error at once, without another step or a wait. Wait only once, never between two
/// steps: `read` and `read_all` of [`OnDevice`] wait; `plus` and `times` do not.
pub fn mean_loss(
    steps: &mut dyn Iterator<Item = candle_core::Result<(OnDevice, u64)>>,
) -> candle_core::Result<f64> {
    todo!("4.5: take all steps, then wait once")
}

/// The largest batch whose step needs at most `budget` bytes, and these bytes; None if not even 2 clouds fit.
///
/// - `parameters`: the weight and the master copy of each; `gradients`, `optimizer`: of each parameter, by `step.each`.
/// - `activations`: `rows` × `kept` of each layer, summed over all layers and clouds.
/// - `passing`: needed for one layer at a time, so clouds × the greatest `rows` × `passing` of a layer.
///
/// Count exactly, in u64; the bytes of a batch that does not fit may overflow. Compute the batch instead of trying one
/// after the other.
pub fn largest_batch(step: &StepSize, budget: u64) -> Option<(u64, StepBytes)> {
    todo!("4.6: the bytes without a cloud, the bytes that each cloud adds, how many fit")
}

/// Resumes a run from `saved`: restores all tensors of the model (`PointNet::from_map`) and of the optimizer
/// (`Optimizer::load_state`), and returns the remaining batches of epoch `saved.epoch`. Return the error of a restore
/// that fails.
///
/// `epoch_order`, by seed and epoch, contains positions in `records`. `batches` divides the epoch into batches of
/// `size`; an incomplete last batch is dropped. The first `saved.batch` batches are done, perhaps all.
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
/// after `Failure::OutOfMemory`, and none after the first success.
///
/// Do not try a batch below `least`, nor one of 0: if none is left, the result is `Failure::OutOfMemory`. Any other
/// failure is returned at once and unchanged.
pub fn executable_batch(
    start: usize,
    least: usize,
    attempt: &mut dyn FnMut(usize) -> Result<(), Failure>,
) -> Result<usize, Failure> {
    todo!("4.8: try, halve, try again")
}
