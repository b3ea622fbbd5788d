//! Lesson 04: the third hint of each exercise, completed as a student does who has no other idea. `M` is 0 here; each
//! other number is one known mistake, whose cause is in the exercise's file.

use anyhow::Result;
use candle_core::{DType, Tensor};
use canopy::{
    device::Settled,
    kernels::{self, Pass},
    loader::{batches, epoch_order},
    model::{PointNet, orthogonality},
    optim::{Optimizer, clip_grad_norm},
    train::{Failure, Loss, OnDevice, Saved, metrics::Scores},
    train::memory::{StepBytes, StepSize},
};

use crate::{Attempt, Open, Steps};

pub fn choose_device<const M: u8>(name: &str, open: Open) -> Result<Settled, String> {
    let settled = |cuda| Ok(Settled { cuda, reason: None });
    if M == 3 && name == "auto" {
        return settled(open(0).ok().map(|()| 0));
    }
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
    let n = name.strip_prefix("cuda:").filter(|_| M == 1).map_or(n, |d| d.parse().ok());
    let Some(n) = n else {
        return Err(format!("{name}: choose auto, cpu, cuda or cuda:N"));
    };
    if M == 2 {
        return settled(open(n).ok().map(|()| n));
    }
    open(n).map_err(|why| format!("cuda:{n}: {why}"))?;
    settled(Some(n))
}

pub fn train_step<const M: u8>(
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    (points, labels): (&Tensor, &Tensor),
    loss: &Loss,
    pass: &Pass,
    learning_rate: f64,
    clip: f64,
) -> Result<(Tensor, Tensor)> {
    let eval = Pass::eval();
    let pass = if M == 3 { &eval } else { pass };
    let out = model.forward(points, pass)?;
    let (smoothing, weights) =
        (loss.smoothing, loss.class_weights.as_ref());
    let mut total = kernels::cross_entropy(
        &out.logits,
        labels,
        smoothing,
        weights,
    )?;
    if let (2, Some(t)) = (M, &out.feature_transform) {
        orthogonality(t)?;
    }
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
    let hits = if M == 1 { hits.sum_all()? } else { hits };
    Ok((
        total.detach().to_dtype(DType::F32)?,
        hits.to_dtype(DType::F32)?.sum_all()?,
    ))
}

pub fn probabilities<const M: u8>(model: &PointNet, points: &Tensor) -> Result<Tensor> {
    let logits = model.forward(points, &Pass::eval())?.logits;
    let logits = if M == 3 { model.forward(points, &Pass::train(0, 0))?.logits } else { logits };
    let logits = logits.detach().to_dtype(DType::F32)?;
    let up = logits.broadcast_sub(&logits.max_keepdim(1)?)?.exp()?;
    if M == 1 {
        return Ok(logits);
    }
    if M == 2 {
        let up = logits.broadcast_sub(&logits.max_keepdim(0)?)?.exp()?;
        return Ok(up.broadcast_div(&up.sum_keepdim(0)?)?);
    }
    Ok(up.broadcast_div(&up.sum_keepdim(1)?)?)
}

pub fn scores<const M: u8>(truth: &[u32], named: &[u32], classes: usize) -> Scores {
    let (truth, named) = if M == 1 { (named, truth) } else { (truth, named) };
    let mut m = vec![vec![0u64; classes]; classes];
    for (&t, &n) in truth.iter().zip(named) {
        m[t as usize][n as usize] += 1;
    }
    let row = |c: usize| m[c].iter().sum::<u64>();
    let column = |c: usize| m.iter().map(|r| r[c]).sum::<u64>();
    let occur: Vec<usize> =
        (0..classes).filter(|&c| row(c) > 0).collect();
    let occurring = occur.len();
    let occur = if M == 3 { (0..classes).collect() } else { occur };
    let recalls = occur.iter().map(|&c| m[c][c] as f64 / row(c) as f64);
    let balanced = recalls.sum::<f64>() / occur.len().max(1) as f64;
    let f1 = |&c: &usize| {
    2.0 * m[c][c] as f64 / (row(c) + column(c)) as f64
    };
    let macro_f1 = occur.iter().map(f1).sum::<f64>() / occur.len().max(1) as f64;
    let divided = if M == 2 { classes } else { occurring };
    let rest = occurring.max(1) as f64 / divided.max(1) as f64;
    let correct: u64 = (0..classes).map(|c| m[c][c]).sum();
    let accuracy = correct as f64 / truth.len().max(1) as f64;
    Scores { confusion: m, accuracy, balanced_accuracy: balanced * rest, macro_f1: macro_f1 * rest }
}

pub fn mean_loss<const M: u8>(steps: Steps) -> candle_core::Result<f64> {
    let (mut losses, mut clouds) = (Vec::new(), Vec::new());
    for step in steps {
        let (loss, n) = step?;
        losses.push(loss);
        clouds.push(n);
        if M == 2 {
            losses[losses.len() - 1].read()?;
        }
    }
    let read = OnDevice::read_all(&losses)?;
    if M == 1 {
        clouds.fill(1);
    }
    let sum: f64 =
        read.iter().zip(&clouds).map(|(l, &n)| l * n as f64).sum();
    if M == 3 {
        return Ok(sum / clouds.iter().sum::<u64>() as f64);
    }
    Ok(sum / clouds.iter().sum::<u64>().max(1) as f64)
}

pub fn largest_batch<const M: u8>(step: &StepSize, budget: u64) -> Option<(u64, StepBytes)> {
    let mut step = step.clone();
    if M == 1 {
        step.each.master = 0;
    }
    let n = step.parameters;
    let kept: u64 = step.layers.iter().map(|l| l.rows * l.kept).sum();
    let passing = step
        .layers
        .iter()
        .map(|l| l.rows * l.passing)
        .max()
        .unwrap_or(0);
    let passing = if M == 2 { step.layers.iter().map(|l| l.rows * l.passing).sum() } else { passing };
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
    if M == 3 {
        (bytes.activations, bytes.passing) = (kept, passing);
    }
    (batch >= 2).then_some((batch, bytes))
}

pub fn resume_batches<const M: u8>(
    saved: &Saved,
    model: &PointNet,
    optimizer: &mut dyn Optimizer,
    records: &[usize],
    size: usize,
) -> Result<Vec<Vec<usize>>> {
    let mut saved = saved.clone();
    saved.model.extend(model.to_map()?.into_iter().filter(|(name, _)| M == 1 && name.contains("running")));
    saved.optimizer.extend(optimizer.state()?.into_iter().filter(|(name, _)| M == 2 && name == "step"));
    model.from_map(&saved.model, "the saved run")?;
    optimizer.load_state(&saved.optimizer)?;
    let positions: Vec<usize> = (0..records.len()).collect();
    let order =
        epoch_order(records.len(), saved.seed, saved.epoch as u64);
    let records = if M == 3 { &positions } else { records };
    let order: Vec<usize> =
        order.into_iter().map(|i| records[i]).collect();
    if M == 4 {
        return Ok(batches(&order[saved.batch * size..], size, true));
    }
    Ok(batches(&order, size, true)
        .into_iter()
        .skip(saved.batch)
        .collect())
}

pub fn executable_batch<const M: u8>(start: usize, least: usize, attempt: Attempt) -> Result<usize, Failure> {
    let least = if M == 1 { 1 } else { least };
    let mut batch = start;
    while batch >= least.max(1) {
        match attempt(batch) {
            Err(Failure::OutOfMemory) if M == 2 && batch > least && batch / 2 < least => batch = least,
            Err(Failure::Other(_)) if M == 3 => batch /= 2,
            Ok(()) => return Ok(batch),
            Err(Failure::OutOfMemory) => batch /= 2,
            Err(other) => return Err(other),
        }
    }
    Err(Failure::OutOfMemory)
}
