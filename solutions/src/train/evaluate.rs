//! Predictions of a model, without gradients.

use std::sync::Arc;

use anyhow::Result;
use candle_core::{DType, Tensor};
use canopy_data::Dataset;

use super::{
    Config, MicroBatch,
    task::{Part, Task},
};
use crate::{
    kernels::Pass,
    loader::{Augment, Batch, Collate, Loader, batches},
    model::PointNet,
    profile::{self, Kind},
};

/// Probabilities `[clouds, classes]` for points `[clouds, points, channels]`, by a `pass` of [`Pass::eval`]: with running
/// statistics, without dropout.
pub fn probabilities(model: &PointNet, points: &Tensor, pass: &Pass) -> Result<Tensor> {
    let logits = model.forward(points, pass)?.logits;
    let logits = logits.detach().to_dtype(DType::F32)?;
    Ok(candle_nn::ops::softmax(&logits, 1)?)
}

/// The [`Task::outputs`] for a batch, `[clouds][columns]`, on the host.
///
/// # Errors
/// Returns an error if the batch does not fit the model or if the device is out of memory.
pub fn outputs<T: Task>(
    task: &T,
    model: &PointNet,
    batch: &Batch,
    categories: Option<Vec<u32>>,
    pass: &Pass,
) -> Result<Vec<Vec<f32>>> {
    let copying = profile::span("to device", Kind::Copy);
    let clouds = MicroBatch::on(&model.device(), batch, categories, pass.clone())?;
    drop(copying);
    let span = profile::work("infer");
    let outputs = task.outputs(model, &clouds)?;
    drop(span);
    Ok(profile::timed("read", Kind::Wait, || outputs.to_vec2())?)
}

/// The seed of every evaluation: all runs are evaluated on the same samples.
const SEED: u64 = 0;

/// The collation of an evaluation: no augmentation, the same for every model.
pub(super) fn collate(config: &Config, data: &Dataset) -> Collate {
    Collate {
        augment: Augment::NONE,
        seed: SEED,
        ..config.collate(data.clone())
    }
}

/// Predicts the records of a part with `model`, in a `pass` of [`Pass::eval`]. `config` gives the clouds as the network sees
/// them, the number of samples of each, the batch size and the loader's threads. After each batch, `each` gets the number of
/// clouds so far; its error ends the evaluation.
pub fn predict<T: Task>(
    task: &T,
    model: &PointNet,
    part: &Part,
    config: &Config,
    pass: &Pass,
    each: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Vec<T::Prediction>> {
    let &Part {
        data,
        categories,
        records,
        ..
    } = part;
    let loader = Loader::new(Arc::new(collate(config, data)), config.workers, 2);
    let mut samples = vec![Vec::with_capacity(config.votes); records.len()];
    for vote in 0..config.votes {
        let mut done = 0;
        let mut incoming = loader.epoch(vote as u64, batches(records, config.batch, false));
        while let Some(batch) = profile::timed("next batch", Kind::Load, || incoming.next()) {
            let batch = batch?;
            let ids = categories.map(|of| batch.records.iter().map(|&r| of[r]).collect());
            let rows = outputs(task, model, &batch, ids, pass)?;
            for row in rows {
                samples[done].push(row);
                done += 1;
            }
            each(vote * records.len() + done)?;
        }
    }
    samples.iter().map(|of| task.prediction(of)).collect()
}
