//! PointNet over clouds of different lengths, padded to one. By candle's own operators: the fused ones know no mask.

use anyhow::{Result, ensure};
use candle_core::Tensor;

use super::layers::{Dense, TNet};
use super::pointnet::BEFORE_FEATURE_TRANSFORM;
use super::{Output, PointNet};
use crate::kernels::{self, Pass};

/// Layer after layer over the real ones of `[rows, from]`.
fn forward(layers: &[Dense], x: &Tensor, mask: &Tensor, pass: &Pass) -> Result<Tensor> {
    let mut x = x.clone();
    for layer in layers {
        x = layer.masked(&x, mask, pass)?;
    }
    Ok(x)
}

/// And the greatest value over each cloud's real points.
fn forward_max(layers: &[Dense], x: &Tensor, mask: &Tensor, pass: &Pass) -> Result<Tensor> {
    let (clouds, points) = mask.dims2()?;
    let x = forward(layers, x, &mask.flatten_all()?, pass)?;
    Ok(kernels::masked_max(&x.reshape((clouds, points, ()))?, mask)?)
}

impl TNet {
    fn masked(&self, x: &Tensor, mask: &Tensor, pass: &Pass) -> Result<Tensor> {
        let pooled = forward_max(&self.mlp, x, mask, pass)?;
        Ok(self.matrices(&pooled, pass)?)
    }
}

impl PointNet {
    /// As [`PointNet::forward`], of points `[clouds, longest, inputs]` of which `mask` `[clouds, longest]` (f32) says which are
    /// real: padding changes neither logits nor gradients nor running statistics. With a mask of ones it is the same
    /// network. Take the gradients by the same `pass`.
    ///
    /// # Errors
    /// Those of `forward`; a mask of another shape.
    pub fn forward_masked(&self, points: &Tensor, mask: &Tensor, pass: &Pass) -> Result<Output> {
        let inputs = self.config().inputs;
        let (clouds, longest) = mask.dims2()?;
        ensure!(
            points.dims() == [clouds, longest, inputs] && clouds > 0 && longest > 0,
            "points: expected [{clouds}, {longest}, {inputs}], the mask being {:?}, got {:?}",
            mask.dims(),
            points.dims()
        );
        ensure!(
            !pass.train || clouds > 1,
            "training needs at least 2 clouds in a batch, got 1: batch norm in the head would divide by a variance of nothing"
        );
        let pass = &pass.clone().plain(true);
        let mut x = points.reshape((clouds * longest, inputs))?;
        let (mut behind, mut feature_transform) = (self.mlp(), None);
        if let Some((input, feature)) = self.transforms() {
            x = kernels::transform(&x, &input.masked(&x, mask, pass)?)?;
            let (before, after) = behind.split_at(BEFORE_FEATURE_TRANSFORM);
            x = forward(before, &x, &mask.flatten_all()?, pass)?;
            let matrices = feature.masked(&x, mask, pass)?;
            x = kernels::transform(&x, &matrices)?;
            (behind, feature_transform) = (after, Some(matrices));
        }
        let pooled = forward_max(behind, &x, mask, pass)?;
        Ok(Output {
            logits: self.classify(pooled, pass)?,
            feature_transform,
        })
    }
}
