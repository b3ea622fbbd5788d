//! The parameters of a layer of linear+BN+ReLU.

use candle_core::{Result, Tensor, Var};

/// Batch normalisation over rows (Ioffe and Szegedy 2015), as PyTorch's `BatchNorm1d`: biased variance
/// to normalise, unbiased for the running estimate.
#[derive(Clone, Debug)]
pub struct BatchNorm {
    /// Scale, `[channels]`; starts at 1.
    pub gamma: Var,
    /// Shift, `[channels]`; starts at 0.
    pub beta: Var,
    /// Running mean, `[channels]`: a buffer, not a parameter.
    pub mean: Var,
    /// Running variance, `[channels]`: a buffer, not a parameter.
    pub var: Var,
    /// Weight of the new batch in the running statistics; PyTorch's 0.1.
    pub momentum: f64,
    /// Added to the variance; PyTorch's 1e-5.
    pub eps: f64,
}

impl BatchNorm {
    /// Folds this batch norm with its running statistics into the linear layer before it: w `[out, in]` → weight
    /// `[out, in]` and bias `[out]`.
    pub fn folded(&self, w: &Tensor) -> Result<(Tensor, Tensor)> {
        let scale = (self.gamma.as_tensor() / (self.var.as_detached_tensor() + self.eps)?.sqrt()?)?;
        let shift = (self.beta.as_tensor() - (self.mean.as_detached_tensor() * &scale)?)?;
        Ok((w.broadcast_mul(&scale.unsqueeze(1)?)?, shift))
    }
}

/// One layer of a shared MLP: `relu(bn(x·wᵀ))`, or without the ReLU.
#[derive(Clone, Copy, Debug)]
pub struct MlpLayer<'a> {
    /// `[out, in]`.
    pub weight: &'a Tensor,
    /// Over the `out` channels.
    pub bn: &'a BatchNorm,
    /// Whether a ReLU ends the layer.
    pub relu: bool,
}
