//! The forward pass.

use anyhow::{Context, Result, bail, ensure};
use candle_core::Tensor;

use super::layers::{self, Dense};
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
        let (rows, clouds) = self.rows(points)?;
        match mask {
            None => self.over_clouds(&rows, clouds, categories, pass),
            Some(mask) => {
                let (rows, clouds) = kernels::without_padding(points, mask, pass)?;
                self.over_clouds(&rows, clouds, categories, pass)
            }
        }
    }

    fn over_clouds(
        &self,
        rows: &Tensor,
        clouds: Clouds,
        categories: Option<&[u32]>,
        pass: &Pass,
    ) -> Result<Output> {
        ensure!(
            !pass.train || clouds.count() != 1 || pass.synchronised(),
            "training needs at least 2 clouds in a batch, got 1: batch norm in the head would divide by a \
             variance of 0. Use a larger batch, or drop the epoch's last one if it has a single cloud"
        );
        let (x, feature_transform) = self.transformed(rows, &clouds, pass)?;
        let mut pooled = layers::forward_max(self.after_transforms(), &x, &clouds, pass)?;
        match (self.embedding(), categories) {
            (None, None) => {}
            (Some(embedding), Some(ids)) if ids.len() == clouds.count() => {
                pooled = embedding.append(&pooled, ids, pass)?;
            }
            (embedding, ids) => bail!(
                "the network expects {} categories for {} clouds, got {}",
                embedding.map_or(0, |_| clouds.count()),
                clouds.count(),
                ids.map_or(0, <[u32]>::len)
            ),
        }
        Ok(Output {
            logits: self.classify(pooled, pass)?,
            feature_transform,
        })
    }

    /// The operands of the widest product, before the maximum over points, with running statistics: rows `[points of all
    /// clouds, 128]`, and the weight `[1024, 128]`, negated where γ is negative, so that the maximum is sought.
    ///
    /// # Errors
    /// As [`PointNet::forward`].
    pub fn widest_operands(&self, points: &Tensor) -> Result<(Tensor, Tensor)> {
        let (rows, clouds) = self.rows(points)?;
        let (x, _) = self.transformed(&rows, &clouds, &Pass::eval())?;
        let (last, before) = self.after_transforms().split_last().context("no layers")?;
        let rows = layers::forward(before, &x, &Pass::eval())?;
        Ok((rows, last.signed_weight()?))
    }

    /// Points `[clouds, points, inputs]` as rows `[clouds × points, inputs]`.
    pub(super) fn rows(&self, points: &Tensor) -> Result<(Tensor, Clouds)> {
        let inputs = self.config().inputs;
        match *points.dims() {
            [clouds, n, k] if clouds > 0 && n > 0 && k == inputs => {
                Ok((points.reshape((clouds * n, k))?, Clouds::Equal(clouds)))
            }
            _ => bail!(
                "points: expected shape [clouds, points, {inputs}] with at least one cloud and one point, got {:?}",
                points.dims()
            ),
        }
    }

    /// Up to and including the feature transform: `[points of all clouds, inputs]` → `[points of all clouds, 64]`. A vanilla
    /// model has no transform, so its points are returned unchanged.
    pub(super) fn transformed(
        &self,
        rows: &Tensor,
        clouds: &Clouds,
        pass: &Pass,
    ) -> Result<(Tensor, Option<Tensor>)> {
        let Some((input, feature)) = self.transforms() else {
            return Ok((rows.clone(), None));
        };
        let t = input.forward(rows, clouds, pass).context("input transform")?;
        let x = kernels::transform_in(pass, rows, &t, clouds)?;
        let x = layers::forward(&self.mlp()[..BEFORE_FEATURE_TRANSFORM], &x, pass)?;
        let t = feature.forward(&x, clouds, pass).context("feature transform")?;
        Ok((kernels::transform_in(pass, &x, &t, clouds)?, Some(t)))
    }

    /// The layers of the shared MLP that follow [`Self::transformed`].
    pub(super) fn after_transforms(&self) -> &[Dense] {
        match self.transforms() {
            Some(_) => &self.mlp()[BEFORE_FEATURE_TRANSFORM..],
            None => self.mlp(),
        }
    }

    /// `[clouds, 1024]`, with the embedding if there is one → `[clouds, classes]`.
    fn classify(&self, pooled: Tensor, pass: &Pass) -> Result<Tensor> {
        let mut x = pooled;
        for (i, layer) in self.head().iter().enumerate() {
            let hidden = layers::forward(std::slice::from_ref(layer), &x, pass)?;
            x = kernels::dropout(&hidden, self.config().dropout, i as u64, pass)?;
        }
        Ok(self.classifier().forward(&x, pass)?)
    }
}
