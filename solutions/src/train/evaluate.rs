//! What the model says of clouds it does not learn from. No graph is kept.

use std::sync::Arc;

use anyhow::Result;
use candle_core::{DType, Tensor};
use canopy_data::Dataset;

use super::metrics;
use crate::{
    kernels::Pass,
    loader::{Augment, Batch, Collate, Features, Frame, Loader, Points, batches, batches_by_length},
    model::PointNet,
    profile::{self, Kind},
    report::Evaluation,
};

/// What a model said of some records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predictions {
    /// The records, in the order asked for.
    pub records: Vec<usize>,
    /// Their species' numbers.
    pub truth: Vec<u32>,
    /// `[records][classes]`, each row sums to 1.
    pub probabilities: Vec<Vec<f32>>,
}

/// Probabilities `[clouds, classes]` of points `[clouds, points, channels]`, by running statistics and without dropout.
///
/// # Errors
/// candle's.
pub fn probabilities(model: &PointNet, points: &Tensor, plain: bool) -> Result<Tensor> {
    softmax(&model.forward(points, &Pass::eval().plain(plain))?.logits)
}

/// The rows of [`probabilities`] for a batch, of clouds of one length or of different lengths, on the host.
///
/// # Errors
/// Returns an error if the batch does not fit the model or if the device is out of memory.
pub fn batch_probabilities(model: &PointNet, batch: &Batch, plain: bool) -> Result<Vec<Vec<f32>>> {
    let copying = profile::span("to device", Kind::Copy);
    let (points, _) = batch.to_device(&model.device())?;
    drop(copying);
    let span = profile::work("infer");
    let rows = match batch.mask_tensor()? {
        None => probabilities(model, &points, plain)?,
        Some(mask) => softmax(
            &model
                .forward_masked(&points, &mask, &Pass::eval().plain(plain))?
                .logits,
        )?,
    };
    drop(span);
    Ok(profile::timed("read", Kind::Wait, || rows.to_vec2())?)
}

fn softmax(logits: &Tensor) -> Result<Tensor> {
    Ok(candle_nn::ops::softmax(
        &logits.detach().to_dtype(DType::F32)?,
        1,
    )?)
}

/// How an evaluation runs.
#[derive(Clone, Copy, Debug)]
pub struct EvaluateOptions<'a> {
    /// How many points of each cloud the network sees.
    pub points: Points,
    /// Points of the cloud of every record of the data set ([`lengths`](crate::loader::lengths)); empty if all clouds have
    /// the same number of points.
    pub lengths: &'a [usize],
    /// The frame they are seen in.
    pub frame: Frame,
    /// What is told of a point.
    pub features: Features,
    /// Clouds of a batch.
    pub batch: usize,
    /// Samples of each cloud whose probabilities are averaged.
    pub votes: usize,
    /// Loader threads.
    pub workers: usize,
    /// Plain candle operators.
    pub plain: bool,
}

/// The seed of every evaluation: the same samples whatever seed the run had.
const SEED: u64 = 0;

/// How an evaluation turns a record into points: without augmentation, the same for every model.
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

/// What `model` says of `records`; `each` is told after every batch how many clouds were seen, and may end it by an error.
///
/// # Errors
/// The loader's, candle's, `each`'s.
pub fn predict(
    model: &PointNet,
    data: &Dataset,
    records: &[usize],
    options: &EvaluateOptions,
    each: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<Predictions> {
    let loader = Loader::new(
        Arc::new(collate(data, options.points, options.frame, options.features)),
        options.workers,
        2,
    );
    let classes = data.species.len();
    let mut sums = vec![vec![0f32; classes]; records.len()];
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
            let batch = batch?;
            let rows = batch_probabilities(model, &batch, options.plain)?;
            for (row, &place) in rows.into_iter().zip(&mut order) {
                let sums = sums[place].iter_mut().zip(row);
                sums.for_each(|(s, p)| *s += p / options.votes as f32);
                done += 1;
            }
            each(vote * records.len() + done)?;
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
    /// The most probable species of each.
    pub fn named(&self) -> Vec<u32> {
        self.probabilities
            .iter()
            .map(|row| metrics::argmax(row) as u32)
            .collect()
    }

    /// Mean cross-entropy, nats; probabilities under 1e-12 count as that.
    pub fn loss(&self) -> f64 {
        let each = self.truth.iter().zip(&self.probabilities);
        let sum: f64 = each
            .map(|(&t, row)| -f64::from(row[t as usize]).max(1e-12).ln())
            .sum();
        sum / self.truth.len().max(1) as f64
    }

    /// All scores, under the name of the part of the data.
    pub fn scores(&self, part: &str, species: &[String]) -> Evaluation {
        let scores = metrics::scores(&self.truth, &self.named(), species.len());
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
