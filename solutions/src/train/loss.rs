//! What a step minimises: the loss of a classifier, or that of a head for numbers.

use std::fmt::Debug;

use anyhow::Result;
use candle_core::{DType, Tensor};

use super::MicroBatch;
use crate::{
    kernels::{Operator, Pass, cross_entropy, weighted_sum},
    model::{PointNet, orthogonality},
    profile,
    target::Head,
};

/// The objective of a training step.
pub trait Objective: Debug + Send + Sync {
    /// The mean loss of the network's `outputs` `[clouds, outputs]` against `labels` `[clouds]`, with its graph, and the
    /// number of clouds that are predicted correctly; both are scalars still on the device.
    fn of_outputs(&self, outputs: &Tensor, labels: &Tensor, pass: &Pass) -> Result<(Tensor, Tensor)>;

    /// Weight of the feature transform's orthogonality term.
    fn orthogonality(&self) -> f64;

    /// The orthogonality term of the feature transforms `[clouds, k, k]`, a scalar with its graph.
    fn orthogonality_term(&self, transform: &Tensor) -> Result<Tensor> {
        Ok(orthogonality(transform)?)
    }
}

// ANCHOR: Loss
/// The terms of the training loss.
#[derive(Clone, Debug)]
pub struct Loss {
    /// Label smoothing, 0 to 1.
    pub smoothing: f64,
    /// Weight of each class, `[classes]`.
    pub class_weights: Option<Tensor>,
    /// Weight of the feature transform's orthogonality term.
    pub orthogonality: f64,
}
// ANCHOR_END: Loss

impl Loss {
    /// The cross-entropy alone.
    pub const CROSS_ENTROPY: Self = Self {
        smoothing: 0.0,
        class_weights: None,
        orthogonality: 0.0,
    };

    /// That of a run without other options.
    pub const USUAL: Self = Self {
        smoothing: 0.1,
        class_weights: None,
        orthogonality: 1e-3,
    };
}

impl Objective for Loss {
    fn of_outputs(&self, outputs: &Tensor, labels: &Tensor, pass: &Pass) -> Result<(Tensor, Tensor)> {
        let total = pass.operate(Operator::CrossEntropy, [outputs], |[logits]| {
            cross_entropy(&logits, labels, self.smoothing, self.class_weights.as_ref())
        })?;
        let predicted = outputs.detach().argmax(1)?;
        Ok((total, predicted.eq(labels)?.to_dtype(DType::F32)?.sum_all()?))
    }

    fn orthogonality(&self) -> f64 {
        self.orthogonality
    }
}

/// The objective of a network that predicts a number: the negative log-likelihood by its head. A prediction counts as
/// correct if the true value is in the central half of the forecast, which is true of half of them if they are calibrated.
#[derive(Clone, Debug)]
pub struct NumberLoss {
    /// The head.
    pub head: Head,
    /// Weight of the feature transform's orthogonality term.
    pub orthogonality: f64,
}

impl Objective for NumberLoss {
    fn of_outputs(&self, outputs: &Tensor, labels: &Tensor, pass: &Pass) -> Result<(Tensor, Tensor)> {
        let loss = pass.operate(Operator::CrossEntropy, [outputs], |[outputs]| {
            self.head.loss(&outputs, labels)
        })?;
        Ok((loss, self.head.in_central_half(outputs, labels)?))
    }

    fn orthogonality(&self) -> f64 {
        self.orthogonality
    }
}

/// Forward pass and loss of a micro-batch. Returns the objective's mean loss × `factor` + the orthogonality term ×
/// `penalty`, with its graph, and the number of correct predictions; both are scalars still on the device.
pub(super) fn forward(
    objective: &dyn Objective,
    model: &PointNet,
    micro: &MicroBatch,
    (factor, penalty): (f64, f64),
) -> Result<(Tensor, Tensor)> {
    let pass = &micro.pass;
    let span = profile::work("forward");
    let categories = micro.categories.as_deref();
    let output = model.forward_with(&micro.points, None, categories, pass)?;
    drop(span);
    let _span = profile::work("loss");
    let (mut total, correct) = objective.of_outputs(&output.logits, &micro.labels, pass)?;
    let weight = objective.orthogonality();
    if let Some(transform) = output.feature_transform.filter(|_| weight > 0.0) {
        let term = objective.orthogonality_term(&transform)?;
        total = weighted_sum(&[(&total, factor), (&term, weight * penalty)])?;
    } else if factor != 1.0 {
        total = weighted_sum(&[(&total, factor)])?;
    }
    Ok((total, correct))
}
