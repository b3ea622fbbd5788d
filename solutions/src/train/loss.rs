//! The training loss of a classifier.

use anyhow::Result;
use candle_core::{DType, Tensor};

use super::Objective;
use crate::kernels::{self, Operator, Pass};

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
            kernels::cross_entropy(&logits, labels, self.smoothing, self.class_weights.as_ref())
        })?;
        let predicted = outputs.detach().argmax(1)?;
        Ok((total, predicted.eq(labels)?.to_dtype(DType::F32)?.sum_all()?))
    }

    fn orthogonality(&self) -> f64 {
        self.orthogonality
    }
}
