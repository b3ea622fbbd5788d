//! Batch norm and ReLU over rows that are split over ranks.

use anyhow::Result;
use candle_core::{Tensor, Var};

use super::sum_over_ranks;
use crate::parallel::Collective;

/// PyTorch's ε, added to the variance.
const EPS: f64 = 1e-5;

/// Batch norm by the statistics of the batch, then ReLU. It keeps no running statistics.
pub struct Norm {
    /// Scale, `[channels]`.
    pub gamma: Var,
    /// Shift, `[channels]`.
    pub beta: Var,
}

/// What the backward pass needs.
pub struct Normalised {
    /// The normalised rows, `[rows, channels]`.
    hat: Tensor,
    /// One over the standard deviation, `[channels]`.
    inverse: Tensor,
}

impl Normalised {
    /// The tensors kept.
    pub fn tensors(&self) -> [&Tensor; 2] {
        [&self.hat, &self.inverse]
    }
}

/// Gradients of the rows and of γ and β.
pub struct NormGrads {
    pub x: Tensor,
    pub gamma: Tensor,
    pub beta: Tensor,
}

impl Norm {
    /// Normalises this rank's rows `x`, `[rows, channels]`, by the mean and variance of the `total` rows of all `ranks`; `None`:
    /// there is one rank.
    ///
    /// # Errors
    /// Returns an error if candle or a sum over the ranks fails.
    pub fn forward(
        &self,
        x: &Tensor,
        total: usize,
        ranks: Option<&dyn Collective>,
    ) -> Result<(Tensor, Normalised)> {
        let mean = |rows: &Tensor| -> Result<Tensor> { Ok((over(ranks, &rows.sum(0)?)? / total as f64)?) };
        let centred = x.broadcast_sub(&mean(x)?)?;
        let inverse = (mean(&centred.sqr()?)? + EPS)?.sqrt()?.recip()?;
        let hat = centred.broadcast_mul(&inverse)?;
        drop(centred);
        let output = self.before_relu(&hat)?.relu()?;
        Ok((output, Normalised { hat, inverse }))
    }

    fn before_relu(&self, hat: &Tensor) -> Result<Tensor> {
        let scaled = hat.broadcast_mul(&self.gamma.as_detached_tensor())?;
        Ok(scaled.broadcast_add(&self.beta.as_detached_tensor())?)
    }

    /// Returns the gradients, from that of the output. Those of γ and β are this rank's part of the sum over its rows.
    ///
    /// # Errors
    /// As [`Self::forward`].
    pub fn backward(
        &self,
        kept: &Normalised,
        grad: &Tensor,
        total: usize,
        ranks: Option<&dyn Collective>,
    ) -> Result<NormGrads> {
        let Normalised { hat, inverse } = kept;
        let is_positive = self.before_relu(hat)?.gt(0f64)?.to_dtype(grad.dtype())?;
        let grad = (grad * is_positive)?;
        let (gamma, beta) = ((&grad * hat)?.sum(0)?, grad.sum(0)?);
        // Both sums in one message.
        let sums = (over(ranks, &Tensor::stack(&[&gamma, &beta], 0)?)? / total as f64)?;
        let x = grad
            .broadcast_sub(&sums.get(1)?)?
            .sub(&hat.broadcast_mul(&sums.get(0)?)?)?
            .broadcast_mul(&(self.gamma.as_detached_tensor() * inverse)?)?;
        Ok(NormGrads { x, gamma, beta })
    }
}

/// The sum over the ranks, if the rows are split over several.
fn over(ranks: Option<&dyn Collective>, tensor: &Tensor) -> Result<Tensor> {
    ranks.map_or_else(|| Ok(tensor.clone()), |ranks| sum_over_ranks(ranks, tensor))
}
