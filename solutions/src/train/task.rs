//! What a run predicts of a cloud: its species ([`Species`](super::species::Species)), or a number
//! ([`Number`](super::numbers::Number)).

use std::fmt::Display;

use anyhow::Result;
use candle_core::Tensor;
use canopy_data::Dataset;
use serde::Serialize;

use super::{EpochRow, MicroBatch};
use crate::model::PointNet;

/// A part of a data set.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// `train`, `validation`, `test`, `all`.
    pub name: &'a str,
    /// The whole data set.
    pub data: &'a Dataset,
    /// The category of each record of the data set, if the network has an embedding.
    pub categories: Option<&'a [u32]>,
    /// The records of the part.
    pub records: &'a [usize],
}

/// What a run predicts.
pub trait Task {
    /// What is predicted of one cloud.
    type Prediction;
    /// The scores of many predictions; as text within 80 columns.
    type Scores: Serialize + Display;

    /// What the network says of each cloud, `[clouds, columns]` (f32), without gradients.
    fn outputs(&self, model: &PointNet, clouds: &MicroBatch) -> Result<Tensor>;

    /// The prediction for a cloud of which these are the [`outputs`](Self::outputs) for one or more samples.
    fn prediction(&self, samples: &[Vec<f32>]) -> Result<Self::Prediction>;

    /// All scores of the predictions for a part.
    fn scores(&self, part: &Part, predictions: &[Self::Prediction]) -> Self::Scores;

    /// Titles and cells of the row of `predictions.csv` for this record.
    fn row(&self, data: &Dataset, record: usize, prediction: &Self::Prediction) -> Vec<(String, String)>;

    /// Enters the scores on the validation set.
    fn log(&self, scores: &Self::Scores, row: &mut EpochRow);
}
