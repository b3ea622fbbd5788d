//! The parameters of a linear+BN+ReLU layer.

use candle_core::{Result, Tensor, Var, bail};

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
    ///
    /// # Errors
    /// Returns an error if the shapes do not match.
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

/// Checks the shapes of x `[rows, in]` and of the layers' parameters.
///
/// # Errors
/// Names the layer, what was expected and what came.
pub(super) fn check(x: &Tensor, layers: &[MlpLayer]) -> Result<()> {
    let [rows, mut width] = *x.dims() else {
        bail!("expected x of shape [rows, channels], got {:?}", x.dims());
    };
    if rows == 0 || width == 0 || layers.is_empty() {
        bail!(
            "expected at least one row, one channel and one layer, got x {:?} and {} layers",
            x.dims(),
            layers.len()
        );
    }
    for (i, l) in layers.iter().enumerate() {
        let out = match *l.weight.dims() {
            [out, input] if input == width && out > 0 => out,
            _ => bail!(
                "layer {i}: expected a weight of shape [out, {width}], got {:?}",
                l.weight.dims()
            ),
        };
        let bn = [
            ("gamma", &l.bn.gamma),
            ("beta", &l.bn.beta),
            ("mean", &l.bn.mean),
            ("var", &l.bn.var),
        ];
        if let Some((name, v)) = bn.iter().find(|(_, v)| v.dims() != [out]) {
            bail!(
                "layer {i}: expected batch norm's {name} of shape [{out}], got {:?}",
                v.dims()
            );
        }
        width = out;
    }
    Ok(())
}
