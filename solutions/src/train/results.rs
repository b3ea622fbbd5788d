//! What a run produces: the rows of its log, its scores, and what its page shows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Target, metrics::Evaluation, number_scores::NumberReport};

/// The outcome of [`Trainer::run`](super::Trainer::run).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All epochs up to [`Trainer::until`](super::Trainer::until) are done.
    Done,
    /// The run was stopped; the checkpoint holds its state.
    Stopped,
}

/// One line of `metrics.jsonl`: an epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpochRow {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// Optimizer steps since the start of the run.
    pub step: u64,
    /// Learning rate of the epoch's last step.
    pub learning_rate: f64,
    /// Mean loss over the training clouds, in training mode (augmented, with dropout).
    pub train_loss: f64,
    /// Accuracy on the training clouds, in training mode (augmented, with dropout). Of a number: the share of true values in
    /// the central half of their forecasts.
    pub train_accuracy: f64,
    /// Mean loss over the validation clouds, of a number that of its head; `None` if this epoch was not evaluated.
    pub val_loss: Option<f64>,
    /// Accuracy on the validation clouds.
    pub val_accuracy: Option<f64>,
    /// Balanced accuracy (mean recall over species) on the validation clouds.
    pub val_balanced: Option<f64>,
    /// Continuous ranked probability score on the validation clouds, if the run predicts a number; in its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub val_crps: Option<f64>,
    /// Mean absolute error of the median on the validation clouds, if the run predicts a number; in its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub val_error: Option<f64>,
    /// Wall time of the epoch, seconds.
    pub seconds: f64,
    /// Training throughput, clouds per second.
    pub clouds_per_second: f64,
    /// The loss scale at the end of the epoch; `None` without loss scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<f64>,
    /// Steps that were skipped because a gradient overflowed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

impl EpochRow {
    /// The score on the validation set, higher is better: the balanced accuracy, or for a number the negative continuous ranked
    /// probability score; `None` if this epoch was not evaluated.
    pub fn score(&self) -> Option<f64> {
        self.val_balanced.or(self.val_crps.map(|crps| -crps))
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A tree that the model classified wrongly, with the points that the model saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrongTree {
    /// The tree's name in its data set.
    pub tree: String,
    /// Its species.
    pub truth: String,
    /// The species that the model predicted.
    pub predicted: String,
    /// The predicted probability of that species.
    pub probability: f32,
    /// Points, metres, z up.
    pub points: Vec<[f32; 3]>,
}

/// Everything that the page of a run shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunReport {
    /// What the run predicts.
    pub target: Target,
    /// Headline: model and data set.
    pub title: String,
    /// The command that repeats the run.
    pub command: String,
    /// canopy's version.
    pub version: String,
    /// When the run started, RFC 3339, UTC.
    pub started: String,
    /// Wall time of the whole run, seconds.
    pub seconds: f64,
    /// Names and values, in the order to show: device, threads, clouds, plots, parameters, digest.
    pub facts: Vec<(String, String)>,
    /// The effective configuration, as TOML.
    pub config: String,
    /// The epochs.
    pub epochs: Vec<EpochRow>,
    /// The epoch whose weights were kept, counted from 1.
    pub best_epoch: Option<usize>,
    /// Scores of the best weights on the test set, or on the validation set if there is no test set; `None` if there is neither.
    pub evaluation: Option<Evaluation>,
    /// Scores and forecasts of a run that predicts a number, in the place of `evaluation`.
    pub number: Option<NumberReport>,
    /// Training clouds of each species.
    pub training_counts: BTreeMap<String, u64>,
    /// Trees that were classified wrongly, the most confident mistake first.
    pub wrong: Vec<WrongTree>,
}
