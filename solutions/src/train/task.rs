//! What a run predicts of a cloud: its species ([`Species`](super::species::Species)), or a number
//! ([`Number`](super::numbers::Number)).

use std::fmt::Display;

use anyhow::Result;
use candle_core::Tensor;
use canopy_data::Dataset;
use serde::Serialize;

use super::{EpochRow, RunReport};
use crate::{kernels::Pass, model::PointNet};

/// The clouds of a batch, on the device of the model.
pub struct Clouds<'a> {
    /// Points `[clouds, points, channels]`.
    pub points: &'a Tensor,
    /// `[clouds, points]`, if the clouds have different lengths.
    pub mask: Option<&'a Tensor>,
    /// The category of each cloud, if the network has an embedding.
    pub categories: Option<&'a [u32]>,
}

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

/// The clouds as the network of a run sees them.
pub trait Views {
    /// The points of a record that an evaluation samples for its first vote, in metres.
    ///
    /// # Errors
    /// Returns an error if the cloud cannot be read.
    fn seen_points(&self, record: usize) -> Result<Vec<[f32; 3]>>;
}

/// What a run predicts.
pub trait Task {
    /// What is predicted of one cloud.
    type Prediction;
    /// The scores of many predictions; as text within 80 columns.
    type Scores: Serialize + Display;

    /// What the network says of each cloud, `[clouds, columns]` (f32), without gradients.
    fn outputs(&self, model: &PointNet, clouds: &Clouds, pass: &Pass) -> Result<Tensor>;

    /// The prediction for a cloud of which these are the [`outputs`](Self::outputs) for one or more samples.
    fn prediction(&self, samples: &[Vec<f32>]) -> Result<Self::Prediction>;

    /// All scores of the predictions for a part.
    fn scores(&self, part: &Part, predictions: &[Self::Prediction]) -> Self::Scores;

    /// Titles and cells of the row of `predictions.csv` for this record.
    fn row(&self, data: &Dataset, record: usize, prediction: &Self::Prediction) -> Vec<(String, String)>;

    /// Enters the scores on the validation set.
    fn log(&self, scores: &Self::Scores, row: &mut EpochRow);

    /// What the page of the run shows of the predictions for a part; the rest of the report is empty.
    fn report(
        &self,
        views: &dyn Views,
        part: &Part,
        predictions: &[Self::Prediction],
        scores: Self::Scores,
    ) -> Result<RunReport>;
}
