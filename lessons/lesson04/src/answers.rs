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
    match (M, name) {
        (4, "auto") => return settled(open(0).ok().map(|()| 0)),
        (5, "auto") => return settled((0..8).find(|&n| open(n).is_ok())),
        (6, "auto") => return open(0).map_err(|why| format!("cuda:0: {why}")).and_then(|()| settled(Some(0))),
        _ => {}
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
    let n = match (M, name.strip_prefix("cuda:")) {
        (1, Some(d)) => d.parse().ok(),
        (2, Some(_)) => n.or(Some(0)),
        _ => n,
    };
    let Some(n) = n else {
        return Err(format!("{name}: choose auto, cpu, cuda or cuda:N"));
    };
    match M {
        3 => return settled(open(n).ok().map(|()| n)),
        7 => return settled(Some(n)),
        _ => {}
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
    let pass = if M == 7 { &eval } else { pass };
    let out = model.forward(points, pass)?;
    let (smoothing, weights) =
        (loss.smoothing, loss.class_weights.as_ref());
    let mut total = kernels::cross_entropy(
        &out.logits,
        labels,
        smoothing,
        weights,
    )?;
    if M == 1 {
        total = kernels::weighted_sum(&[(&total, points.dim(0)? as f64)])?;
    }
    match &out.feature_transform {
        Some(t) if M == 4 && loss.orthogonality > 0.0 => {
            let sum = (&total + (orthogonality(t)? * loss.orthogonality)?)?;
            model.gradients(&sum, pass)?;
        }
        Some(t) if M == 5 => drop(orthogonality(t)?),
        _ => {}
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
    if M == 6 {
        model.forward(points, pass)?;
    }
    optimizer.step(&grads, learning_rate)?;
    let hits = out.logits.detach().argmax(1)?.eq(labels)?;
    let hits = match M {
        2 => (hits.to_dtype(DType::F32)? / points.dim(0)? as f64)?,
        3 => hits.sum_all()?,
        _ => hits,
    };
    Ok((
        total.detach().to_dtype(DType::F32)?,
        hits.to_dtype(DType::F32)?.sum_all()?,
    ))
}

pub fn probabilities<const M: u8>(model: &PointNet, points: &Tensor) -> Result<Tensor> {
    let logits = model.forward(points, &Pass::eval())?.logits;
    let logits = if M == 3 { model.forward(points, &Pass::train(0, 0))?.logits } else { logits };
    let logits = logits.detach().to_dtype(DType::F32)?;
    let softmax = |logits: &Tensor, axis: usize| {
        let up = logits.broadcast_sub(&logits.max_keepdim(axis)?)?.exp()?;
        Ok(up.broadcast_div(&up.sum_keepdim(axis)?)?)
    };
    let up = logits.broadcast_sub(&logits.max_keepdim(1)?)?.exp()?;
    match M {
        1 => return Ok(logits),
        2 => return softmax(&logits, 0),
        4 => return Ok(up.broadcast_div(&up.sum_all()?)?),
        5 => return softmax(&softmax(&logits, 1)?, 1),
        _ => {}
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
    let occur = match M {
        3 => (0..classes).collect(),
        5 => occur.into_iter().filter(|&c| m[c][c] > 0).collect(),
        _ => occur,
    };
    let recalls = occur.iter().map(|&c| m[c][c] as f64 / row(c) as f64);
    let balanced = recalls.sum::<f64>() / occur.len().max(1) as f64;
    let f1 = |&c: &usize| {
    2.0 * m[c][c] as f64 / (row(c) + column(c)) as f64
    };
    let macro_f1 = occur.iter().map(f1).sum::<f64>() / occur.len().max(1) as f64;
    let divided = match M {
        2 => classes,
        4 => (0..classes).filter(|&c| row(c) + column(c) > 0).count(),
        _ => occurring,
    };
    let rest = occurring.max(1) as f64 / divided.max(1) as f64;
    let correct: u64 = (0..classes).map(|c| m[c][c]).sum();
    let accuracy = correct as f64 / truth.len().max(1) as f64;
    Scores { confusion: m, accuracy, balanced_accuracy: balanced * rest, macro_f1: macro_f1 * rest }
}

pub fn mean_loss<const M: u8>(steps: Steps) -> candle_core::Result<f64> {
    let mut apart = Vec::new();
    let (mut losses, mut clouds) = (Vec::new(), Vec::new());
    for step in steps {
        match (M, &step) {
            (5, Err(_)) => continue,
            (6, Err(_)) => break,
            _ => {}
        }
        let (loss, n) = step?;
        losses.push(loss);
        clouds.push(n);
        if M == 2 {
            apart.push(losses.remove(0).read()?);
        }
    }
    if M == 3 {
        apart = losses.drain(..).map(|loss| loss.read()).collect::<candle_core::Result<_>>()?;
    }
    let read = OnDevice::read_all(&losses)?;
    let read = if matches!(M, 2 | 3) { apart } else { read };
    if M == 1 {
        clouds.fill(1);
    }
    let sum: f64 =
        read.iter().zip(&clouds).map(|(l, &n)| l * n as f64).sum();
    if M == 4 {
        return Ok(sum / clouds.iter().sum::<u64>() as f64);
    }
    Ok(sum / clouds.iter().sum::<u64>().max(1) as f64)
}

pub fn largest_batch<const M: u8>(step: &StepSize, budget: u64) -> Option<(u64, StepBytes)> {
    let mut step = step.clone();
    match M {
        1 => step.each.gradient = 0,
        2 => step.each.optimizer = 0,
        3 => step.each.master = 0,
        _ => {}
    }
    let n = step.parameters;
    let kept: u64 = step.layers.iter().map(|l| l.rows * l.kept).sum();
    let passing = step
        .layers
        .iter()
        .map(|l| l.rows * l.passing)
        .max()
        .unwrap_or(0);
    let passing = match M {
        4 => step.layers.iter().map(|l| l.rows * l.passing).sum(),
        5 => 0,
        _ => passing,
    };
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
    match M {
        6 => (bytes.activations, bytes.passing) = (kept, passing),
        7 if batch == 1 => return Some((batch, bytes)),
        8 => return Some((batch, bytes)),
        _ => {}
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
    let fresh = |part: &str, name: &str| match M {
        1 => part == "model",
        2 => name.contains("running"),
        3 => part == "optimizer",
        4 => name == "step",
        _ => false,
    };
    saved.model.extend(model.to_map()?.into_iter().filter(|(name, _)| fresh("model", name)));
    saved.optimizer.extend(optimizer.state()?.into_iter().filter(|(name, _)| fresh("optimizer", name)));
    model.from_map(&saved.model, "the saved run")?;
    optimizer.load_state(&saved.optimizer)?;
    let positions: Vec<usize> = (0..records.len()).collect();
    let order =
        epoch_order(records.len(), saved.seed, saved.epoch as u64);
    let order = if M == 5 { positions.clone() } else { order };
    let records = if M == 6 { &positions } else { records };
    let order: Vec<usize> =
        order.into_iter().map(|i| records[i]).collect();
    match M {
        7 => return Ok(batches(&order[saved.batch * size..], size, true)),
        8 => return Ok(batches(&order, size, false).split_off(saved.batch)),
        _ => {}
    }
    Ok(batches(&order, size, true)
        .into_iter()
        .skip(saved.batch)
        .collect())
}

pub fn executable_batch<const M: u8>(start: usize, least: usize, attempt: Attempt) -> Result<usize, Failure> {
    let (start, least) = match M {
        1 => (start / 2, least),
        3 => (start, 1),
        _ => (start, least),
    };
    let mut batch = start;
    while batch >= least.max(1) {
        match attempt(batch) {
            Err(Failure::OutOfMemory) if M == 2 && batch > 1 => batch = batch.div_ceil(2),
            Err(Failure::OutOfMemory) if M == 5 && batch > least && batch / 2 < least => batch = least,
            Err(Failure::Other(_)) if M == 6 => batch /= 2,
            Ok(()) => return Ok(batch),
            Err(Failure::OutOfMemory) => batch /= 2,
            Err(other) => return Err(other),
        }
    }
    if M == 4 && least == 0 {
        return attempt(0).map(|()| 0);
    }
    Err(Failure::OutOfMemory)
}
