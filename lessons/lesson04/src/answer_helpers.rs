//! Right answers with switches, from which the known mistakes are built: each switch turns on one mistake.

mod training_step;

use anyhow::{Result, ensure};
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

pub use training_step::*;

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
    pub gradient: fn(u64) -> u64,
    pub optimizer: fn(u64) -> u64,
    /// Of the layers' kept bytes a cloud.
    pub kept: fn(&[LayerSize]) -> u64,
    pub passing: fn(&[LayerSize]) -> u64,
    /// Clouds of the room that is left, given what each needs.
    pub fill: fn(u64, u64) -> u64,
    pub least: u64,
    /// Of the backward pass's bytes a cloud: what is counted when the batch is chosen.
    pub chosen: fn(u64) -> u64,
    /// The number of clouds whose bytes are returned.
    pub reported: fn(u64) -> u64,
}

pub const BYTES: Bytes = Bytes {
    weight: |weight, master| weight + master,
    gradient: |bytes| bytes,
    optimizer: |bytes| bytes,
    kept: |layers| layers.iter().map(|l| l.rows * l.kept).sum(),
    passing: |layers| layers.iter().map(|l| l.rows * l.passing).max().unwrap_or(0),
    fill: |room, each| room / each,
    least: 2,
    chosen: |passing| passing,
    reported: |batch| batch,
};

pub fn filled(step: &StepSize, budget: u64, twist: Bytes) -> Option<(u64, StepBytes)> {
    let n = step.parameters;
    let each = step.each;
    let mut bytes = StepBytes {
        parameters: n * (twist.weight)(u64::from(each.weight), u64::from(each.master)),
        gradients: n * (twist.gradient)(u64::from(each.gradient)),
        optimizer: n * (twist.optimizer)(u64::from(each.optimizer)),
        ..StepBytes::default()
    };
    let (kept, passing) = ((twist.kept)(&step.layers), (twist.passing)(&step.layers));
    if budget < bytes.total() {
        return None;
    }
    let batch = (twist.fill)(budget - bytes.total(), kept + (twist.chosen)(passing));
    let reported = (twist.reported)(batch);
    (bytes.activations, bytes.passing) = (reported * kept, reported * passing);
    (batch >= twist.least).then_some((batch, bytes))
}

/// What resuming may do differently.
#[derive(Clone, Copy)]
pub struct Resuming {
    /// Which tensors of the model are restored.
    pub tensors: fn(&str) -> bool,
    pub optimizer: bool,
    /// Which of the optimizer's entries are as if fresh.
    pub fresh: fn(&str) -> bool,
    /// The epoch whose order is taken, and its batches that are done.
    pub at: fn(&Saved) -> (usize, usize),
    pub seed: fn(&Saved) -> u64,
    /// The order of so many records, given that of the epoch.
    pub order: fn(Vec<usize>, usize) -> Vec<usize>,
    /// Returns the records, not their positions.
    pub records: bool,
    pub drop_last: bool,
    /// The records before the epoch orders them.
    pub listed: fn(&[usize]) -> Vec<usize>,
    /// The batches that are left, of all batches and the number done.
    pub left: fn(Vec<Vec<usize>>, usize) -> Vec<Vec<usize>>,
    /// Errors of the model, and of the optimizer, are ignored.
    pub forgives: (bool, bool),
}

pub const RESUMING: Resuming = Resuming {
    tensors: |_| true,
    optimizer: true,
    fresh: |_| false,
    at: |saved| (saved.epoch, saved.batch),
    seed: |saved| saved.seed,
    order: |order, _| order,
    records: true,
    drop_last: true,
    listed: |records| records.to_vec(),
    left: |all, done| all.into_iter().skip(done).collect(),
    forgives: (false, false),
};

pub fn resumed(
    saved: &Saved,
    (model, optimizer): (&PointNet, &mut dyn Optimizer),
    (records, size): (&[usize], usize),
    twist: Resuming,
) -> Result<Vec<Vec<usize>>> {
    // Tensors that are not restored remain as they are, so the maps are complete unless the saved ones are not.
    let mut map = saved.model.clone();
    for (name, own) in model.to_map()? {
        if !(twist.tensors)(&name) && map.contains_key(&name) {
            map.insert(name, own);
        }
    }
    let result = model.from_map(&map, "saved");
    if !twist.forgives.0 {
        result?;
    }
    if twist.optimizer {
        let mut state = saved.optimizer.clone();
        for (name, own) in optimizer.state()? {
            if (twist.fresh)(&name) && state.contains_key(&name) {
                state.insert(name, own);
            }
        }
        let result = optimizer.load_state(&state);
        if !twist.forgives.1 {
            result?;
        }
    }
    let (epoch, done) = (twist.at)(saved);
    let records = (twist.listed)(records);
    let order = epoch_order(records.len(), (twist.seed)(saved), epoch as u64);
    let order = (twist.order)(order, records.len());
    let order: Vec<usize> = if twist.records {
        order.into_iter().map(|i| records[i]).collect()
    } else {
        order
    };
    Ok((twist.left)(batches(&order, size, twist.drop_last), done))
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
