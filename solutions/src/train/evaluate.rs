//! Predictions of a model, without gradients.

use std::sync::Arc;

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy_data::Dataset;

use super::{Evaluation, metrics};
use crate::{
    kernels::Pass,
    loader::{Augment, Collate, Features, Frame, Loader, batches},
    model::PointNet,
    profile::{self, Kind},
};

/// A model's predictions for some records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predictions {
    /// The records, in the order of the call.
    pub records: Vec<usize>,
    /// Their labels.
    pub truth: Vec<u32>,
    /// `[records][classes]`; each row sums to 1.
    pub probabilities: Vec<Vec<f32>>,
}

/// Probabilities `[clouds, classes]` for points `[clouds, points, channels]`, in evaluation mode: running statistics, no
/// dropout.
///
/// # Errors
/// Returns candle's.
pub fn probabilities(model: &PointNet, points: &Tensor, plain: bool) -> Result<Tensor> {
    let logits = model.forward(points, &Pass::eval().plain(plain))?.logits;
    Ok(candle_nn::ops::softmax(
        &logits.detach().to_dtype(DType::F32)?,
        1,
    )?)
}

/// Options of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct EvaluateOptions<'a> {
    /// Points sampled from each cloud.
    pub points: usize,
    /// Their frame.
    pub frame: Frame,
    /// The channels of a point.
    pub features: Features,
    /// Clouds per batch.
    pub batch: usize,
    /// Samples of each cloud, whose probabilities are averaged.
    pub votes: usize,
    /// Data loader threads.
    pub workers: usize,
    /// Plain candle operators.
    pub plain: bool,
    /// The model's device.
    pub device: &'a Device,
}

/// The seed of every evaluation: all runs are evaluated on the same samples.
const SEED: u64 = 0;

/// The collation of an evaluation: no augmentation, the same for every model.
pub fn collate(data: &Dataset, points: usize, frame: Frame, features: Features) -> Collate {
    Collate {
        data: data.clone(),
        points,
        frame,
        features,
        augment: Augment::NONE,
        seed: SEED,
    }
}

/// The predictions of `model` for `records`. After every batch, `each` gets the number of clouds so far, and may end the
/// evaluation by an error.
///
/// # Errors
/// Returns those of the loader, candle and `each`.
pub fn predict(
    model: &PointNet,
    data: &Dataset,
    records: &[usize],
    options: &EvaluateOptions,
    each: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Predictions> {
    let mut loader = Loader::new(
        Arc::new(collate(data, options.points, options.frame, options.features)),
        options.workers,
        2,
    )?;
    let classes = data.species.len();
    let mut sums = vec![vec![0f32; classes]; records.len()];
    for vote in 0..options.votes {
        let mut at = 0;
        let mut incoming = loader.epoch(vote as u64, batches(records, options.batch, false));
        while let Some(batch) = profile::timed("next batch", Kind::Load, || incoming.next()) {
            let batch = batch?;
            let (points, _) = profile::timed("to device", Kind::Copy, || batch.to_device(options.device))?;
            let span = profile::work("infer");
            let rows = probabilities(model, &points, options.plain)?;
            drop(span);
            for row in profile::timed("read", Kind::Wait, || rows.to_vec2::<f32>())? {
                sums[at]
                    .iter_mut()
                    .zip(row)
                    .for_each(|(s, p)| *s += p / options.votes as f32);
                at += 1;
            }
            each(vote * records.len() + at)?;
        }
    }
    let truth = records.iter().map(|&r| data.records[r].species as u32).collect();
    Ok(Predictions {
        records: records.to_vec(),
        truth,
        probabilities: sums,
    })
}

impl Predictions {
    /// The most probable species of each record.
    pub fn species(&self) -> Vec<u32> {
        self.probabilities
            .iter()
            .map(|row| metrics::argmax(row) as u32)
            .collect()
    }

    /// Mean cross-entropy, nats; probabilities below 1e-12 count as 1e-12.
    pub fn loss(&self) -> f64 {
        let each = self.truth.iter().zip(&self.probabilities);
        let sum: f64 = each
            .map(|(&t, row)| -f64::from(row[t as usize]).max(1e-12).ln())
            .sum();
        sum / self.truth.len().max(1) as f64
    }

    /// All scores; `part` is the name of the part of the data.
    pub fn scores(&self, part: &str, species: &[String]) -> Evaluation {
        let scores = metrics::scores(&self.truth, &self.species(), species.len());
        Evaluation {
            part: part.to_owned(),
            accuracy: scores.accuracy,
            balanced_accuracy: scores.balanced_accuracy,
            macro_f1: scores.macro_f1,
            loss: self.loss(),
            classes: metrics::class_rows(&scores.confusion, species),
            confusion: scores.confusion,
        }
    }
}
