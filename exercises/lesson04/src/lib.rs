//! Lesson 04: training on a GPU. Put your code where a `todo!` stands; the comment above says what is asked.
//!
//! `cargo test -p lesson04` checks all, `cargo test -p lesson04 4.2` one exercise. `cargo course hint 4.2` helps.

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

/// Which device `name` means here: `cpu`, `cuda` (the same as `cuda:0`), `cuda:N` or `auto`. `open(N)` opens CUDA device N, or
/// says in words why it cannot. Ask it at most once, and not where the CPU is named.
///
/// `auto` takes CUDA device 0; where that does not open it is the CPU, with those words as the `reason`. A device asked for
/// by name never falls back: where it does not open, the error holds `cuda:N` and those words. Otherwise `reason` is None. N
/// is decimal digits alone. Any other name is an error that holds the name, and those that there are: `auto, cpu, cuda or
/// cuda:N`.
pub fn choose_device(
    name: &str,
    open: &mut dyn FnMut(usize) -> Result<(), String>,
) -> Result<Settled, String> {
    todo!("4.1: match the name, open, fall back for auto alone")
}

/// One training step: forward, loss, backward, clip, optimizer. Gives the loss, and how many clouds were named rightly (the
/// greatest logit is the label's), each a tensor of one number without axes in f32.
///
/// `points` is `[clouds, points, channels]`, `labels` is `[clouds]`. The network sees the batch once, in `pass`. The loss
/// is `kernels::cross_entropy` with `loss.smoothing` and `loss.class_weights`; where the network gives a feature transform
/// and `loss.orthogonality` is above 0, so many times `orthogonality` of it is added, by `kernels::weighted_sum`.
/// `model.gradients` gives the gradients. With `clip` above 0 their common norm is held to it (`clip_grad_norm`). Then the
/// optimizer takes one step at `learning_rate`. Read no number here: loss and hits stay where they are.
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

/// The probabilities `[clouds, classes]` of points `[clouds, points, channels]`, in f32 whatever the network computes in:
/// softmax over the classes of the logits, which may be large.
///
/// By running statistics and without dropout, so a cloud gets the same answer in whatever company; nothing of the network
/// changes; and no graph hangs on the result (`track_op()` of it is false).
pub fn probabilities(model: &PointNet, points: &Tensor) -> Result<Tensor> {
    todo!("4.3: the right pass, let go of the graph, softmax")
}

/// The scores of predictions: `truth[i]` is the class of cloud i, `named[i]` what it was called, all below `classes`.
///
/// `confusion[t][n]`: how often class t was called n. `accuracy`: the share that was named rightly. `balanced_accuracy`: the
/// mean over classes of the recall, hits/(clouds of that class). `macro_f1`: the mean over classes of
/// F1 = 2·hits/(clouds of that class + clouds called so). Both means are over the classes that occur in `truth`. Where there
/// is nothing to score, all three are 0.
pub fn scores(truth: &[u32], named: &[u32], classes: usize) -> Scores {
    todo!("4.4: the matrix first, all else from it")
}

/// The mean loss of an epoch, Σ clouds·loss / Σ clouds, 0 of an epoch without steps.
///
/// Each item is a step that is taken when you ask for it: its mean loss, which may still be under way on the device, and its
/// number of clouds. Ask for each step once. A step's error is yours, at once, and no further step is taken. Wait once in
/// all: `read` and `read_all` of [`OnDevice`] wait until the device has done all that was asked of it; `plus` and `times` do
/// not. Between two steps you must not wait.
pub fn mean_loss(
    steps: &mut dyn Iterator<Item = candle_core::Result<(OnDevice, u64)>>,
) -> candle_core::Result<f64> {
    todo!("4.5: ask for all steps, then wait")
}

/// The largest batch whose step needs no more than `budget` bytes, and what it needs; None where not even 2 clouds fit, for
/// batch norm cannot learn from one.
///
/// A step needs, `step.each` being the bytes of one parameter: `parameters`, each its weight and its master copy;
/// `gradients`; `optimizer`; `activations`, what each layer keeps of each row (`rows` × `kept`), of all layers and clouds;
/// `passing`, what the backward pass needs at one layer at a time (`rows` × `passing`), so that of the layer where it is
/// most, of all clouds. There is at least one layer that keeps something. A budget may be smaller than the parameters.
pub fn largest_batch(step: &StepSize, budget: u64) -> Option<(u64, StepBytes)> {
    todo!("4.6: what is there without a cloud, what each cloud adds, how many fit")
}

/// Takes up a run where `saved` left it: puts all tensors of the model (`PointNet::from_map`) and of the optimizer
/// (`Optimizer::load_state`) back, and gives the batches of epoch `saved.epoch` that are still to do, in their order.
///
/// The epoch visits `records` in the order `epoch_order(records.len(), seed, epoch)`, which gives places in `records`; it is
/// cut into batches of `size` by `batches`, a last one that is not full being left out; the first `saved.batch` are done.
pub fn take_up(
    saved: &Saved,
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    records: &[usize],
    size: usize,
) -> Result<Vec<Vec<usize>>> {
    todo!("4.7: weights, statistics, moments; and the rest of the epoch")
}

/// The first of start, start/2, start/4, … (each rounded down) with which `attempt` does not run out of memory.
///
/// No batch below `least` is tried, nor one of 0: where none is left, the result is `Failure::OutOfMemory`. Any other failure
/// is the result at once: a smaller batch is no cure for it. After the first success nothing more is tried.
pub fn executable_batch(
    start: usize,
    least: usize,
    attempt: &mut dyn FnMut(usize) -> Result<(), Failure>,
) -> Result<usize, Failure> {
    todo!("4.8: try, halve, try again")
}
