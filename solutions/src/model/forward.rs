//! The forward pass.

use anyhow::{Context, Result, bail, ensure};
use candle_core::Tensor;

use super::layers::{self, Dense};
use super::{Output, PointNet};
use crate::kernels::{self, Clouds, Pass};

/// Runs a part of a forward pass.
pub type Part<'a> = &'a mut dyn FnMut(usize) -> Result<()>;

/// Runs all parts of a forward pass: calls its argument with the number of each, from 0.
pub type RunParts<'a> = &'a mut dyn FnMut(Part) -> Result<()>;

/// What one part of a forward pass leaves for the next.
pub(super) struct Between {
    pub x: Tensor,
    clouds: Clouds,
    transform: Option<Tensor>,
}

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
        self.forward_by(points, mask, categories, pass, &mut |part| {
            (0..self.part_count()).try_for_each(part)
        })
    }

    /// As [`PointNet::forward_with`], in parts: `run` calls its argument once with each of 0 to [`PointNet::part_count`], in
    /// this order. A part needs its own parameters ([`PointNet::parts`]) and no others.
    ///
    /// # Errors
    /// As [`PointNet::forward_with`], and those of `run`.
    pub fn forward_by(
        &self,
        points: &Tensor,
        mask: Option<&Tensor>,
        categories: Option<&[u32]>,
        pass: &Pass,
        run: RunParts,
    ) -> Result<Output> {
        let mut between = self.start(points, mask, pass)?;
        ensure!(
            !pass.train || between.clouds.count() != 1 || pass.synchronised(),
            "training needs at least 2 clouds in a batch, got 1: batch norm in the head would divide by a \
             variance of 0. Use a larger batch, or drop the epoch's last one if it has a single cloud"
        );
        run(&mut |part| self.part(part, &mut between, categories, pass))?;
        Ok(Output {
            logits: between.x,
            feature_transform: between.transform,
        })
    }

    /// The number of parts of a forward pass.
    pub fn part_count(&self) -> usize {
        self.parts_before_max() + 1 + self.head.len() + 1
    }

    pub(super) fn parts_before_max(&self) -> usize {
        self.transforms.as_ref().map_or(0, |_| 3)
    }

    /// The parameters of each part of a forward pass, as indices in [`PointNet::params`].
    pub fn parts(&self) -> Vec<Vec<usize>> {
        // What the names of each part's parameters begin with.
        let up_to_max: &[&[&str]] = match self.transforms {
            Some(_) => &[
                &["input_transform."],
                &["mlp.0.", "mlp.1."],
                &["feature_transform."],
                &["mlp.2.", "mlp.3.", "mlp.4.", "embedding."],
            ],
            None => &[&["mlp.", "embedding."]],
        };
        let after: &[&[&str]] = &[&["head.0."], &["head.1."], &["classifier."]];
        let of = |starts: &&[&str]| {
            let params = self.params.iter().enumerate();
            let own = params.filter(|(_, (name, _))| starts.iter().any(|start| name.starts_with(start)));
            own.map(|(i, _)| i).collect()
        };
        up_to_max.iter().chain(after).map(of).collect()
    }

    /// Points `[clouds, points, inputs]` as rows `[clouds × points, inputs]`, without the padding of a mask.
    pub(super) fn start(&self, points: &Tensor, mask: Option<&Tensor>, pass: &Pass) -> Result<Between> {
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
        let (x, clouds) = match mask {
            None => rows,
            Some(mask) => kernels::without_padding(points, mask, pass)?,
        };
        Ok(Between {
            x,
            clouds,
            transform: None,
        })
    }

    /// Input transform, layers before the feature transform, feature transform (none of these three in a vanilla model);
    /// layers up to the maximum; each layer of the head; the classifier.
    pub(super) fn part(
        &self,
        part: usize,
        between: &mut Between,
        categories: Option<&[u32]>,
        pass: &Pass,
    ) -> Result<()> {
        let (x, clouds) = (&between.x, &between.clouds);
        between.x = match (&self.transforms, part) {
            (Some([input, _]), 0) => {
                let t = input.forward(x, clouds, pass).context("input transform")?;
                kernels::transform(x, &t, clouds, pass)?
            }
            (Some(_), 1) => layers::forward(&self.mlp[..BEFORE_FEATURE_TRANSFORM], x, pass)?,
            (Some([_, feature]), 2) => {
                let t = feature.forward(x, clouds, pass).context("feature transform")?;
                let x = kernels::transform(x, &t, clouds, pass)?;
                between.transform = Some(t);
                x
            }
            _ => match (part - self.parts_before_max()).checked_sub(1) {
                None => self.pooled(x, clouds, categories, pass)?,
                Some(i) if i < self.head.len() => {
                    let hidden = layers::forward(&self.head[i..=i], x, pass)?;
                    kernels::dropout(&hidden, self.config.dropout, i as u64, pass)?
                }
                Some(_) => self.classifier.forward(x, pass)?,
            },
        };
        Ok(())
    }

    /// `[points of all clouds, channels]` → `[clouds, 1024]`, with the embedding if there is one.
    fn pooled(&self, x: &Tensor, clouds: &Clouds, categories: Option<&[u32]>, pass: &Pass) -> Result<Tensor> {
        let pooled = layers::forward_max(self.after_transforms(), x, clouds, pass)?;
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

    /// The layers of the shared MLP that follow the feature transform.
    pub(super) fn after_transforms(&self) -> &[Dense] {
        match self.transforms {
            Some(_) => &self.mlp[BEFORE_FEATURE_TRANSFORM..],
            None => &self.mlp,
        }
    }
}
