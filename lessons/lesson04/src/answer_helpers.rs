//! Right answers with switches, from which the known mistakes are built: each switch turns on one mistake.

use std::collections::HashMap;

use anyhow::Result;
use candle_core::{D, DType, Tensor};
use canopy::{
    kernels::{self, Pass},
    loader::{batches, epoch_order},
    model::{PointNet, orthogonality},
    optim::{Optimizer, clip_grad_norm},
    train::{
        Failure, Loss, OnDevice, Saved,
        memory::{LayerSize, StepBytes, StepSize},
        metrics::{Scores, confusion_matrix},
    },
};

use crate::{Attempt, Open, Steps};
use canopy::device::Settled;

/// What a choice of device may do differently.
#[derive(Clone, Copy)]
pub struct Choice {
    /// A named device falls back, too.
    pub falls: bool,
    /// `auto` returns a reason.
    pub tells: bool,
    /// The number after `cuda:`.
    pub number: fn(&str) -> Option<usize>,
    /// The words of an error of device N.
    pub words: fn(usize, &str) -> String,
    /// The error for an unknown name.
    pub unknown: fn(&str) -> String,
}

pub const CHOICE: Choice = Choice {
    falls: false,
    tells: true,
    number: |digits| {
        digits
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| digits.parse().ok())?
    },
    words: |n, why| format!("cuda:{n}: {why}"),
    unknown: |name| format!("{name}: not one of auto, cpu, cuda or cuda:N"),
};

pub fn chosen(name: &str, open: Open, choice: Choice) -> Result<Settled, String> {
    let cpu = |reason| Ok(Settled { cuda: None, reason });
    let number = match name {
        "cpu" => return cpu(None),
        "auto" | "cuda" => 0,
        _ => name
            .strip_prefix("cuda:")
            .and_then(choice.number)
            .ok_or((choice.unknown)(name))?,
    };
    match open(number) {
        Ok(()) => Ok(Settled {
            cuda: Some(number),
            reason: None,
        }),
        Err(why) if name == "auto" || choice.falls => cpu(choice.tells.then_some(why)),
        Err(why) => Err((choice.words)(number, &why)),
    }
}

/// When gradients are clipped.
#[derive(Clone, Copy, PartialEq)]
pub enum Clip {
    Asked,
    Never,
    Each,
    Always,
    /// By what was given, 0 as well.
    Unasked,
}

/// What a training step may do differently.
#[derive(Clone, Copy)]
pub struct Step {
    pub smoothing: bool,
    pub weights: bool,
    /// Times the orthogonality term, given its weight.
    pub term: fn(f64) -> f64,
    pub clip: Clip,
    pub rate: fn(f64) -> f64,
    pub steps: usize,
    /// The correct predictions are counted in another pass.
    pub counts_in: Option<fn() -> Pass>,
    /// Of hits and clouds.
    pub hits: fn(f64, usize) -> f64,
    /// The loss is a sum over the clouds.
    pub summed: bool,
    /// The network runs in another pass than asked for.
    pub pass: Option<fn() -> Pass>,
}

pub const STEP: Step = Step {
    smoothing: true,
    weights: true,
    term: |weight| weight,
    clip: Clip::Asked,
    rate: |rate| rate,
    steps: 1,
    counts_in: None,
    hits: |hits, _| hits,
    summed: false,
    pass: None,
};

/// Network, optimizer, points and labels, loss, pass.
pub type Given<'a> = (
    &'a PointNet,
    &'a mut dyn Optimizer,
    (&'a Tensor, &'a Tensor),
    &'a Loss,
    &'a Pass,
);

pub fn stepped(given: Given, rate: f64, clip: f64, twist: Step) -> Result<(Tensor, Tensor)> {
    let (model, optimizer, (points, labels), loss, pass) = given;
    let own = twist.pass.map(|pass| pass());
    let pass = own.as_ref().unwrap_or(pass);
    let output = model.forward(points, pass)?;
    let smoothing = if twist.smoothing { loss.smoothing } else { 0.0 };
    let weights = loss.class_weights.as_ref().filter(|_| twist.weights);
    let mut total = kernels::cross_entropy(&output.logits, labels, smoothing, weights)?;
    if twist.summed {
        total = kernels::weighted_sum(&[(&total, points.dim(0)? as f64)])?;
    }
    let term = (twist.term)(loss.orthogonality);
    if let Some(t) = output.feature_transform.filter(|_| term > 0.0) {
        total = kernels::weighted_sum(&[(&total, 1.0), (&orthogonality(&t)?, term)])?;
    }
    let mut grads = model.gradients(&total, pass)?;
    let bounded = |grads: &mut [Tensor]| match twist.clip {
        Clip::Asked if clip > 0.0 => clip_grad_norm(grads, clip).map(drop),
        Clip::Each if clip > 0.0 => grads
            .chunks_mut(1)
            .try_for_each(|one| clip_grad_norm(one, clip).map(drop)),
        Clip::Always => clip_grad_norm(grads, clip.max(1.0)).map(drop),
        Clip::Unasked => clip_grad_norm(grads, clip).map(drop),
        _ => Ok(()),
    };
    bounded(&mut grads)?;
    for _ in 0..twist.steps {
        optimizer.step(&grads, (twist.rate)(rate))?;
    }
    let logits = match twist.counts_in {
        Some(pass) => model.forward(points, &pass())?.logits,
        None => output.logits,
    };
    let named: Vec<u32> = logits.argmax(1)?.to_vec1()?;
    let labels: Vec<u32> = labels.to_vec1()?;
    let hits = named.iter().zip(&labels).filter(|(a, b)| a == b).count();
    let hits = (twist.hits)(hits as f64, labels.len());
    Ok((total.detach(), Tensor::new(hits as f32, points.device())?))
}

/// Softmax of logits along an axis, after subtracting the greatest.
pub fn softmax(logits: &Tensor, axis: usize) -> Result<Tensor> {
    let up = logits.broadcast_sub(&logits.max_keepdim(axis)?)?.exp()?;
    Ok(up.broadcast_div(&up.sum_keepdim(axis)?)?)
}

/// The logits of the network with running statistics, in f32.
pub fn logits(model: &PointNet, points: &Tensor) -> Result<Tensor> {
    Ok(model
        .forward(points, &Pass::eval())?
        .logits
        .detach()
        .to_dtype(DType::F32)?)
}

/// Softmax without care for large numbers.
pub fn careless(logits: &Tensor) -> Result<Tensor> {
    let up = logits.exp()?;
    Ok(up.broadcast_div(&up.sum_keepdim(D::Minus1)?)?)
}

/// Scores by a matrix and what is made of its rows: `class(row sum, column sum, hits)`.
pub fn scored(
    (truth, named, classes): (&[u32], &[u32], usize),
    recall: fn(&[f64; 3]) -> Option<f64>,
    f1: fn(&[f64; 3]) -> Option<f64>,
    none: f64,
) -> Scores {
    let confusion = confusion_matrix(truth, named, classes);
    let counts: Vec<[f64; 3]> = (0..classes)
        .map(|c| {
            let row: u64 = confusion[c].iter().sum();
            let column: u64 = confusion.iter().map(|r| r[c]).sum();
            [row as f64, column as f64, confusion[c][c] as f64]
        })
        .collect();
    let mean = |of: fn(&[f64; 3]) -> Option<f64>| {
        let all: Vec<f64> = counts.iter().filter_map(of).collect();
        if all.is_empty() {
            none
        } else {
            all.iter().sum::<f64>() / all.len() as f64
        }
    };
    let hits: f64 = counts.iter().map(|c| c[2]).sum();
    Scores {
        accuracy: if truth.is_empty() {
            none
        } else {
            hits / truth.len() as f64
        },
        balanced_accuracy: mean(recall),
        macro_f1: mean(f1),
        confusion,
    }
}

/// Over the classes that occur.
pub fn recall(&[row, _, hits]: &[f64; 3]) -> Option<f64> {
    (row > 0.0).then(|| hits / row)
}

/// Over the classes that occur.
pub fn f1(&[row, column, hits]: &[f64; 3]) -> Option<f64> {
    (row > 0.0).then(|| 2.0 * hits / (row + column))
}

/// Takes all steps one after the other, and calls a function with each.
pub fn each(
    steps: Steps,
    mut see: impl FnMut(OnDevice, u64) -> candle_core::Result<()>,
) -> candle_core::Result<u64> {
    let mut all = 0;
    for step in steps {
        let (loss, clouds) = step?;
        all += clouds;
        see(loss, clouds)?;
    }
    Ok(all)
}

/// What the bytes of a step may be instead.
#[derive(Clone, Copy)]
pub struct Bytes {
    /// Of a parameter, given weight and master copy.
    pub weight: fn(u64, u64) -> u64,
    pub gradient: u64,
    pub optimizer: fn(u64) -> u64,
    /// Of the layers' kept bytes a cloud.
    pub kept: fn(&[LayerSize]) -> u64,
    pub passing: fn(&[LayerSize]) -> u64,
    /// Clouds of the room that is left, given what each needs.
    pub fill: fn(u64, u64) -> u64,
    pub least: u64,
}

pub const BYTES: Bytes = Bytes {
    weight: |weight, master| weight + master,
    gradient: 1,
    optimizer: |bytes| bytes,
    kept: |layers| layers.iter().map(|l| l.rows * l.kept).sum(),
    passing: |layers| layers.iter().map(|l| l.rows * l.passing).max().unwrap_or(0),
    fill: |room, each| room / each,
    least: 2,
};

pub fn filled(step: &StepSize, budget: u64, twist: Bytes) -> Option<(u64, StepBytes)> {
    let n = step.parameters;
    let each = step.each;
    let mut bytes = StepBytes {
        parameters: n * (twist.weight)(u64::from(each.weight), u64::from(each.master)),
        gradients: twist.gradient * n * u64::from(each.gradient),
        optimizer: n * (twist.optimizer)(u64::from(each.optimizer)),
        ..StepBytes::default()
    };
    let (kept, passing) = ((twist.kept)(&step.layers), (twist.passing)(&step.layers));
    if budget < bytes.total() {
        return None;
    }
    let batch = (twist.fill)(budget - bytes.total(), kept + passing);
    (bytes.activations, bytes.passing) = (batch * kept, batch * passing);
    (batch >= twist.least).then_some((batch, bytes))
}

/// What taking up may do differently.
#[derive(Clone, Copy)]
pub struct Taking {
    /// Which tensors of the model are restored.
    pub tensors: fn(&str) -> bool,
    pub optimizer: bool,
    /// Which of the optimizer's entries are as if fresh.
    pub fresh: fn(&str) -> bool,
    /// The epoch whose order is taken, and its batches that are done.
    pub at: fn(&Saved) -> (usize, usize),
    pub seed: fn(&Saved) -> u64,
    /// Returns the records, not their positions.
    pub records: bool,
    pub drop_last: bool,
}

pub const TAKING: Taking = Taking {
    tensors: |_| true,
    optimizer: true,
    fresh: |_| false,
    at: |saved| (saved.epoch, saved.batch),
    seed: |saved| saved.seed,
    records: true,
    drop_last: true,
};

pub fn taken(
    saved: &Saved,
    (model, optimizer): (&PointNet, &mut dyn Optimizer),
    (records, size): (&[usize], usize),
    twist: Taking,
) -> Result<Vec<Vec<usize>>> {
    let mut map: HashMap<String, Tensor> = model.to_map()?.into_iter().collect();
    let wanted = saved.model.iter().filter(|(name, _)| (twist.tensors)(name));
    map.extend(wanted.map(|(name, t)| (name.clone(), t.clone())));
    model.from_map(&map, "saved")?;
    if twist.optimizer {
        let mut state: HashMap<String, Tensor> = optimizer.state()?.into_iter().collect();
        let wanted = saved.optimizer.iter().filter(|(name, _)| !(twist.fresh)(name));
        state.extend(wanted.map(|(name, t)| (name.clone(), t.clone())));
        optimizer.load_state(&state)?;
    }
    let (epoch, done) = (twist.at)(saved);
    let order = epoch_order(records.len(), (twist.seed)(saved), epoch as u64);
    let order: Vec<usize> = if twist.records {
        order.into_iter().map(|i| records[i]).collect()
    } else {
        order
    };
    Ok(batches(&order, size, twist.drop_last)
        .into_iter()
        .skip(done)
        .collect())
}

/// A search that goes on from `batch` to `next(batch)` while `goes(failure)`.
pub fn sought(
    start: usize,
    least: usize,
    attempt: Attempt,
    next: fn(usize) -> usize,
    goes: fn(&Failure) -> bool,
) -> Result<usize, Failure> {
    let mut batch = start;
    while batch >= least && batch > 0 {
        match attempt(batch) {
            Ok(()) => return Ok(batch),
            Err(failure) if goes(&failure) => batch = next(batch),
            Err(failure) => return Err(failure),
        }
    }
    Err(Failure::OutOfMemory)
}

/// Whether it was out of memory.
pub fn starved(failure: &Failure) -> bool {
    *failure == Failure::OutOfMemory
}
