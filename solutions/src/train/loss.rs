//! The training loss: what a step minimises.

use anyhow::Result;
use candle_core::{DType, Tensor};

use crate::{
    kernels::{self, Operator, Pass},
    model::{PointNet, orthogonality},
    profile,
};

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

    /// Forward pass and loss of one batch, points `[clouds, points, channels]` and labels `[clouds]`. Returns the
    /// mean cross-entropy × `factor` + the orthogonality term × `penalty`, with its graph, and the number of clouds
    /// classified correctly; both are scalars still on the device.
    ///
    /// # Errors
    /// Returns an error if the shapes do not match or candle fails.
    pub(super) fn forward(
        &self,
        model: &PointNet,
        (points, mask, labels): (&Tensor, Option<&Tensor>, &Tensor),
        pass: &Pass,
        (factor, penalty): (f64, f64),
    ) -> Result<(Tensor, Tensor)> {
        let span = profile::work("forward");
        let output = match mask {
            None => model.forward(points, pass)?,
            Some(mask) => model.forward_masked(points, mask, pass)?,
        };
        drop(span);
        let _span = profile::work("loss");
        let mut total = pass.operate(Operator::CrossEntropy, [&output.logits], |[logits]| {
            kernels::cross_entropy(&logits, labels, self.smoothing, self.class_weights.as_ref())
        })?;
        if let Some(transform) = output.feature_transform.filter(|_| self.orthogonality > 0.0) {
            total = kernels::weighted_sum(&[
                (&total, factor),
                (&orthogonality(&transform)?, self.orthogonality * penalty),
            ])?;
        } else if factor != 1.0 {
            total = kernels::weighted_sum(&[(&total, factor)])?;
        }
        let predicted = output.logits.detach().argmax(1)?;
        let correct = predicted.eq(labels)?.to_dtype(DType::F32)?.sum_all()?;
        Ok((total, correct))
    }
}
