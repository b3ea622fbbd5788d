//! What a run leaves: the values that its page, its log and its pictures are made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One line of `metrics.jsonl`: an epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EpochRow {
    /// Counts from 1.
    pub epoch: usize,
    /// Optimizer steps so far.
    pub step: u64,
    /// Learning rate at the epoch's end.
    pub learning_rate: f64,
    /// Mean loss over the training clouds (augmented, with dropout).
    pub train_loss: f64,
    /// Share of training clouds named rightly (augmented, with dropout).
    pub train_accuracy: f64,
    /// Mean loss over the validation clouds; none where this epoch was not evaluated.
    pub val_loss: Option<f64>,
    /// Overall accuracy on the validation clouds.
    pub val_accuracy: Option<f64>,
    /// Mean recall over species on the validation clouds.
    pub val_balanced: Option<f64>,
    /// Wall time of the epoch, seconds.
    pub seconds: f64,
    /// Training clouds a second.
    pub clouds_per_second: f64,
    /// The loss scale at the epoch's end; none where the loss is not scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<f64>,
    /// Steps left out because a gradient overflowed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Precision, recall and F1 of one species.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassRow {
    /// Its name.
    pub species: String,
    /// Clouds of this species in the evaluated set.
    pub support: u64,
    /// Of those named so, the share that is so; none where none was named so.
    pub precision: Option<f64>,
    /// Of those that are so, the share named so; none where there is none.
    pub recall: Option<f64>,
    /// Harmonic mean of the two, 0 where it is undefined and the species occurs.
    pub f1: Option<f64>,
}

/// The evaluation of the best model on the held-out plots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Which part of the data: `validation`, `test`.
    pub part: String,
    /// Share of clouds named rightly.
    pub accuracy: f64,
    /// Mean recall over the species that occur.
    pub balanced_accuracy: f64,
    /// Mean F1 over the species that occur.
    pub macro_f1: f64,
    /// Mean cross-entropy, nats.
    pub loss: f64,
    /// A row a species.
    pub classes: Vec<ClassRow>,
    /// `confusion[truth][named]`, counts.
    pub confusion: Vec<Vec<u64>>,
}

/// A tree that the model named wrongly, with its cloud as the model saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WrongTree {
    /// The tree's name in its data set.
    pub tree: String,
    /// What it is.
    pub truth: String,
    /// What it was called.
    pub named: String,
    /// The model's probability for that name.
    pub probability: f32,
    /// Its points, metres, z up.
    pub points: Vec<[f32; 3]>,
}

/// Which points of one tree survive the max (Qi et al. 2017, section 4.3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CriticalPoints {
    /// The tree's name in its data set.
    pub tree: String,
    /// Its species.
    pub species: String,
    /// Its points, metres, z up.
    pub points: Vec<[f32; 3]>,
    /// Indices of the points that at least one channel took its maximum from.
    pub critical: Vec<usize>,
}

/// All that the page of a run shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Headline: model and data set.
    pub title: String,
    /// The command that repeats the run.
    pub command: String,
    /// canopy's version.
    pub version: String,
    /// When it started, RFC 3339, UTC.
    pub started: String,
    /// Wall time of the whole run, seconds.
    pub seconds: f64,
    /// Facts as name and value, in the order to show: device, threads, clouds, plots, parameters, digest.
    pub facts: Vec<(String, String)>,
    /// The effective configuration, as TOML.
    pub config: String,
    /// The epochs.
    pub epochs: Vec<EpochRow>,
    /// Evaluation on held-out plots.
    pub evaluation: Evaluation,
    /// Clouds of each species in training, in label order.
    pub training_counts: BTreeMap<String, u64>,
    /// Trees it got wrong, most confident first.
    pub wrong: Vec<WrongTree>,
    /// Critical points of one tree.
    pub critical: Option<CriticalPoints>,
}
