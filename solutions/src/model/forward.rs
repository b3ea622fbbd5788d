//! The forward pass.

use anyhow::{Context, Result, bail, ensure};
use candle_core::Tensor;

use super::layers;
use super::{Output, PointNet};
use crate::kernels::{self, Clouds, Pass};

/// Layers of the shared MLP before the feature transform.
const BEFORE_FEATURE_TRANSFORM: usize = 2;

impl PointNet {
    /// Points `[clouds, points, inputs]`, in the unit of the training set, to logits.
    ///
    /// # Errors
    /// Returns an error for points of another shape; in training for a single cloud, because batch norm in the head would
    /// have nothing to average over; and candle's errors.
    pub fn forward(&self, points: &Tensor, pass: &Pass) -> Result<Output> {
        self.forward_with(points, None, None, pass)
    }

    /// As [`PointNet::forward`], of clouds of different lengths: points `[clouds, longest, inputs]`, of which mask
    /// `[clouds, longest]` is not 0 at the real ones. Padding changes neither logits nor gradients nor running statistics,
    /// because it is removed before the first layer. The mask is read on the host: it should be on the CPU, because the
    /// host waits for a mask on a GPU.
    ///
    /// # Errors
    /// As [`PointNet::forward`]; returns an error for a mask of another shape, or for a cloud without a real point.
    pub fn forward_masked(&self, points: &Tensor, mask: &Tensor, pass: &Pass) -> Result<Output> {
        self.forward_with(points, Some(mask), None, pass)
    }

    /// As [`PointNet::forward`], or as [`PointNet::forward_masked`] if there is a mask, of clouds with these `categories`,
    /// one each, below [`PointNetConfig::categories`](super::PointNetConfig::categories).
    ///
    /// # Errors
    /// As these; returns an error unless there is a category for each cloud of a network with an embedding, and none
    /// without.
    pub fn forward_with(
        &self,
        points: &Tensor,
        mask: Option<&Tensor>,
        categories: Option<&[u32]>,
        pass: &Pass,
    ) -> Result<Output> {
        let (mut x, clouds) = self.rows(points, mask, pass)?;
        ensure!(
            !pass.train || clouds.count() != 1 || pass.synchronised(),
            "training needs at least 2 clouds in a batch, got 1: batch norm in the head would divide by a \
             variance of 0. Use a larger batch, or drop the epoch's last one if it has a single cloud"
        );
        let mut feature_transform = None;
        if let Some([input, feature]) = &self.transforms {
            let t = input.forward(&x, &clouds, pass).context("input transform")?;
            x = kernels::transform(&x, &t, &clouds, pass)?;
            x = layers::forward(&self.mlp[..BEFORE_FEATURE_TRANSFORM], &x, pass)?;
            let t = feature.forward(&x, &clouds, pass).context("feature transform")?;
            x = kernels::transform(&x, &t, &clouds, pass)?;
            feature_transform = Some(t);
        }
        x = self.pooled(&x, &clouds, categories, pass)?;
        for (i, layer) in self.head.iter().enumerate() {
            x = layers::forward(std::slice::from_ref(layer), &x, pass)?;
            x = kernels::dropout(&x, self.config.dropout, i as u64, pass)?;
        }
        Ok(Output {
            logits: self.classifier.forward(&x, pass)?,
            feature_transform,
        })
    }

    /// Points `[clouds, points, inputs]` as rows `[clouds × points, inputs]`, without the padding of a mask.
    fn rows(&self, points: &Tensor, mask: Option<&Tensor>, pass: &Pass) -> Result<(Tensor, Clouds)> {
        let inputs = self.config.inputs;
        let rows = match *points.dims() {
            [clouds, n, k] if clouds > 0 && n > 0 && k == inputs => {
                (points.reshape((clouds * n, k))?, Clouds::Equal(clouds))
            }
            _ => bail!(
                "points: expected shape [clouds, points, {inputs}] with at least one cloud and one point, got {:?}",
                points.dims()
            ),
        };
        match mask {
            None => Ok(rows),
            Some(mask) => Ok(kernels::without_padding(points, mask, pass)?),
        }
    }

    /// `[points of all clouds, channels]` → `[clouds, 1024]`, with the embedding if there is one.
    fn pooled(&self, x: &Tensor, clouds: &Clouds, categories: Option<&[u32]>, pass: &Pass) -> Result<Tensor> {
        let after_transforms = match self.transforms {
            Some(_) => &self.mlp[BEFORE_FEATURE_TRANSFORM..],
            None => &self.mlp,
        };
        let pooled = layers::forward_max(after_transforms, x, clouds, pass)?;
        match (&self.embedding, categories) {
            (None, None) => Ok(pooled),
            (Some(embedding), Some(ids)) if ids.len() == clouds.count() => {
                Ok(embedding.append(&pooled, ids, pass)?)
            }
            (embedding, ids) => bail!(
                "the network expects {} categories for {} clouds, got {}",
                embedding.as_ref().map_or(0, |_| clouds.count()),
                clouds.count(),
                ids.map_or(0, <[u32]>::len)
            ),
        }
    }
}
