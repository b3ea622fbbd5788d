//! Predictions of a model, without gradients.

use std::sync::Arc;

use anyhow::Result;
use candle_core::{DType, Tensor};
use canopy_data::Dataset;

use super::{Evaluation, metrics};
use crate::{
    kernels::Pass,
    loader::{Augment, Batch, Collate, Features, Frame, Loader, Points, batches, batches_by_length},
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

/// Probabilities `[clouds, classes]` for points `[clouds, points, channels]`, by a `pass` of [`Pass::eval`]: with running
/// statistics, without dropout.
///
/// # Errors
/// Returns candle's.
pub fn probabilities(model: &PointNet, points: &Tensor, pass: &Pass) -> Result<Tensor> {
    softmax(&model.forward(points, pass)?.logits)
}

/// The rows of [`probabilities`] for a batch, of clouds of one length or of different lengths, on the host.
///
/// # Errors
/// Returns an error if the batch does not fit the model or if the device is out of memory.
pub fn batch_probabilities(model: &PointNet, batch: &Batch, pass: &Pass) -> Result<Vec<Vec<f32>>> {
    let copying = profile::span("to device", Kind::Copy);
    let (points, _) = batch.to_device(&model.device())?;
    drop(copying);
    let span = profile::work("infer");
    let rows = match batch.mask_tensor()? {
        None => probabilities(model, &points, pass)?,
        Some(mask) => softmax(&model.forward_masked(&points, &mask, pass)?.logits)?,
    };
    drop(span);
    Ok(profile::timed("read", Kind::Wait, || rows.to_vec2())?)
}

/// The outputs of `model` for a batch, `[clouds][outputs]`, on the host; with the category of each cloud if the network has
/// an embedding.
///
/// # Errors
/// As [`batch_probabilities`].
pub fn batch_outputs(
    model: &PointNet,
    batch: &Batch,
    categories: Option<&[u32]>,
    pass: &Pass,
) -> Result<Vec<Vec<f32>>> {
    let copying = profile::span("to device", Kind::Copy);
    let (points, _) = batch.to_device(&model.device())?;
    drop(copying);
    let mask = batch.mask_tensor()?;
    let span = profile::work("infer");
    let outputs = model
        .forward_with(&points, mask.as_ref(), categories, pass)?
        .logits
        .detach()
        .to_dtype(DType::F32)?;
    drop(span);
    Ok(profile::timed("read", Kind::Wait, || outputs.to_vec2())?)
}

fn softmax(logits: &Tensor) -> Result<Tensor> {
    Ok(candle_nn::ops::softmax(
        &logits.detach().to_dtype(DType::F32)?,
        1,
    )?)
}

/// Options of an evaluation.
#[derive(Clone, Debug)]
pub struct EvaluateOptions<'a> {
    /// How many points of each cloud the network sees.
    pub points: Points,
    /// Points of the cloud of every record of the data set ([`lengths`](crate::loader::lengths)); empty if all clouds have
    /// the same number of points.
    pub lengths: &'a [usize],
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
    /// [`Pass::eval`], with the operators and the precision of every forward pass.
    pub pass: Pass,
}

/// The seed of every evaluation: all runs are evaluated on the same samples.
const SEED: u64 = 0;

/// The collation of an evaluation: no augmentation, the same for every model.
pub fn collate(data: &Dataset, points: Points, frame: Frame, features: Features) -> Collate {
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
    let mut sums = vec![vec![0f32; data.species.len()]; records.len()];
    over_votes(
        data,
        records,
        options,
        &mut |batch| batch_probabilities(model, batch, &options.pass),
        &mut |place, row| {
            let sums = sums[place].iter_mut().zip(row);
            sums.for_each(|(s, p)| *s += p / options.votes as f32);
        },
        each,
    )?;
    let truth = records.iter().map(|&r| data.records[r].species as u32).collect();
    Ok(Predictions {
        records: records.to_vec(),
        truth,
        probabilities: sums,
    })
}

/// Runs `rows`, which returns a row for each cloud of a batch, over all batches of all samples of `records`. `take` gets the
/// place of a record in `records`, and its row; `each` the number of clouds so far.
pub(super) fn over_votes(
    data: &Dataset,
    records: &[usize],
    options: &EvaluateOptions,
    rows: &mut dyn FnMut(&Batch) -> Result<Vec<Vec<f32>>>,
    take: &mut dyn FnMut(usize, Vec<f32>),
    each: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<()> {
    let loader = Loader::new(
        Arc::new(collate(data, options.points, options.frame, options.features)),
        options.workers,
        2,
    );
    // Places in `records`: batches of clouds of similar length come in another order.
    let places = match options.points {
        Points::Fixed(_) => batches(&Vec::from_iter(0..records.len()), options.batch, false),
        Points::All { .. } => {
            let lengths: Vec<usize> = records.iter().map(|&r| options.lengths[r]).collect();
            batches_by_length(&lengths, options.batch)
        }
    };
    let of_places = |batch: &Vec<usize>| batch.iter().map(|&place| records[place]).collect();
    for vote in 0..options.votes {
        let mut done = 0;
        let mut order = places.iter().flatten();
        let mut incoming = loader.epoch(vote as u64, places.iter().map(of_places).collect());
        while let Some(batch) = profile::timed("next batch", Kind::Load, || incoming.next()) {
            for (row, &place) in rows(&batch?)?.into_iter().zip(&mut order) {
                take(place, row);
                done += 1;
            }
            each(vote * records.len() + done)?;
        }
    }
    Ok(())
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
