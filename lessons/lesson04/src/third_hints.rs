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
    let n = match name {
        "cpu" => return Ok(Settled { cuda: None, reason: None }),
        "auto" => return Ok(match open(0) {
            Ok(()) => Settled { cuda: Some(0), reason: None },
            Err(why) => Settled { cuda: None, reason: Some(why) },
        }),
        "cuda" => Some(0),
        other => other
            .strip_prefix("cuda:")
            .filter(|d| d.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|d| d.parse().ok()),
    };
    let Some(n) = n else {
        return Err(format!("{name}: choose auto, cpu, cuda or cuda:N"));
    };
    open(n).map_err(|why| format!("cuda:{n}: {why}"))?;
    Ok(Settled {
        cuda: Some(n),
        reason: None,
    })
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
    let out = model.forward(points, pass)?;
    let (smoothing, weights) =
        (loss.smoothing, loss.class_weights.as_ref());
    let mut total = kernels::cross_entropy(
        &out.logits,
        labels,
        smoothing,
        weights,
    )?;
    if let Some(t) =
        out.feature_transform.filter(|_| loss.orthogonality > 0.0)
    {
        let penalty = orthogonality(&t)?;
        total = kernels::weighted_sum(&[
            (&total, 1.0),
            (&penalty, loss.orthogonality),
        ])?;
    }
    let mut grads = model.gradients(&total, pass)?;
    if clip > 0.0 {
        clip_grad_norm(&mut grads, clip)?;
    }
    optimizer.step(&grads, learning_rate)?;
    let hits = out.logits.detach().argmax(1)?.eq(labels)?;
    Ok((
        total.detach().to_dtype(DType::F32)?,
        hits.to_dtype(DType::F32)?.sum_all()?,
    ))
}

/// The probabilities `[clouds, classes]` of points `[clouds, points, channels]`: softmax of the logits over the
/// classes. They are f32, whatever the network's dtype is: convert the logits, then compute. Logits may be large, but
/// are finite.
///
/// Use running statistics and no dropout, so that the result for a cloud does not depend on the other clouds in the
/// batch. The network does not change, and the result is detached from the graph (`track_op()` is false).
pub fn probabilities(model: &PointNet, points: &Tensor) -> Result<Tensor> {
    let logits = model.forward(points, &Pass::eval())?.logits;
    let logits = logits.detach().to_dtype(DType::F32)?;
    let up = logits.broadcast_sub(&logits.max_keepdim(1)?)?.exp()?;
    Ok(up.broadcast_div(&up.sum_keepdim(1)?)?)
}

/// The scores of predictions: `truth[i]` is the class of cloud i and `named[i]` its predicted class, both below
/// `classes`. Both lists have the same length.
///
/// `confusion[t][p]` counts the clouds of class t that were predicted as p. `accuracy` is the share of correct
/// predictions. `balanced_accuracy` is the mean over classes of the recall, correct/(clouds of that class). `macro_f1`
/// is the mean over classes of F1 = 2·correct/(clouds of that class + clouds predicted as it). Both means are over the
/// classes that occur in `truth`. Without clouds, all three are 0, and `confusion` is `classes` rows of `classes`
/// zeros. Compute in f64.
pub fn scores(truth: &[u32], named: &[u32], classes: usize) -> Scores {
    let mut m = vec![vec![0u64; classes]; classes];
    for (&t, &n) in truth.iter().zip(named) {
        m[t as usize][n as usize] += 1;
    }
    let row = |c: usize| m[c].iter().sum::<u64>();
    let column = |c: usize| m.iter().map(|r| r[c]).sum::<u64>();
    let occur: Vec<usize> =
        (0..classes).filter(|&c| row(c) > 0).collect();
    let recalls = occur.iter().map(|&c| m[c][c] as f64 / row(c) as f64);
    let balanced = recalls.sum::<f64>() / occur.len().max(1) as f64;
    let f1 = |&c: &usize| {
    2.0 * m[c][c] as f64 / (row(c) + column(c)) as f64
    };
    let macro_f1 = occur.iter().map(f1).sum::<f64>() / occur.len().max(1) as f64;
    let correct: u64 = (0..classes).map(|c| m[c][c]).sum();
    let accuracy = correct as f64 / truth.len().max(1) as f64;
    Scores {
        confusion: m,
        accuracy,
        balanced_accuracy: balanced,
        macro_f1,
    }
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
    let (mut losses, mut clouds) = (Vec::new(), Vec::new());
    for step in steps {
        let (loss, n) = step?;
        losses.push(loss);
        clouds.push(n);
    }
    let read = OnDevice::read_all(&losses)?;
    let sum: f64 =
        read.iter().zip(&clouds).map(|(l, &n)| l * n as f64).sum();
    Ok(sum / clouds.iter().sum::<u64>().max(1) as f64)
}

/// The largest batch whose step needs at most `budget` bytes, and the bytes that it needs; None if not even 2 clouds
/// fit, because batch norm cannot learn from one cloud.
///
/// A step needs these bytes, where `step.each` has the bytes of one parameter: `parameters`, the weight and the master
/// copy of each; `gradients`; `optimizer`; `activations`, `rows` × `kept` of each layer, summed over all layers and
/// clouds; `passing`, which the backward pass needs for one layer at a time: clouds × the greatest product `rows` ×
/// `passing` of a layer. At least one layer keeps something; others may keep nothing. Count exactly, in u64: the bytes
/// of a batch that fits do not overflow, but those of a larger one may. The budget may be smaller than the parameters.
/// Compute the batch instead of trying one after the other: it may be 10^14.
pub fn largest_batch(step: &StepSize, budget: u64) -> Option<(u64, StepBytes)> {
    let n = step.parameters;
    let kept: u64 = step.layers.iter().map(|l| l.rows * l.kept).sum();
    let passing = step
        .layers
        .iter()
        .map(|l| l.rows * l.passing)
        .max()
        .unwrap_or(0);
    let mut bytes = StepBytes {
        parameters: n * u64::from(step.each.weight + step.each.master),
        gradients: n * u64::from(step.each.gradient),
        optimizer: n * u64::from(step.each.optimizer),
        activations: 0,
        passing: 0,
    };
    let batch = budget.checked_sub(bytes.total())? / (kept + passing);
    bytes.activations = batch * kept;
    bytes.passing = batch * passing;
    (batch >= 2).then_some((batch, bytes))
}

/// Resumes a run from `saved`: restores all tensors of the model (`PointNet::from_map`) and of the optimizer
/// (`Optimizer::load_state`), and returns the remaining batches of epoch `saved.epoch`, in order. Return the error of a
/// restore that fails.
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
    model.from_map(&saved.model, "the saved run")?;
    optimizer.load_state(&saved.optimizer)?;
    let order =
        epoch_order(records.len(), saved.seed, saved.epoch as u64);
    let order: Vec<usize> =
        order.into_iter().map(|i| records[i]).collect();
    Ok(batches(&order, size, true)
        .into_iter()
        .skip(saved.batch)
        .collect())
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
    let mut batch = start;
    while batch >= least.max(1) {
        match attempt(batch) {
            Ok(()) => return Ok(batch),
            Err(Failure::OutOfMemory) => batch /= 2,
            Err(other) => return Err(other),
        }
    }
    Err(Failure::OutOfMemory)
}
