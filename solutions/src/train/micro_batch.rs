//! A part of a step's batch.

use anyhow::Result;
use candle_core::{Device, Tensor};

use crate::{kernels::Pass, loader::Batch};

/// A batch that goes through the network at once, and its weight within the step.
#[derive(Clone, Debug)]
pub struct MicroBatch {
    /// `[clouds, points, channels]`.
    pub points: Tensor,
    /// `[clouds]`: u32 classes, or what [`Head::label`](crate::target::Head::label) returns for a number.
    pub labels: Tensor,
    /// The category of each cloud, for a network with an embedding.
    pub categories: Option<Vec<u32>>,
    /// The pass over it: each micro-batch draws its own dropout.
    pub pass: Pass,
    /// Number of clouds: the weight of the orthogonality term.
    pub clouds: usize,
    /// Weight of the loss: the sum of the class weights of the labels, or the number of clouds without class
    /// weights.
    pub weight: f64,
}

impl MicroBatch {
    /// Copies a batch to `device`, with the category of each cloud if the network has an embedding.
    pub(super) fn on(
        device: &Device,
        batch: &Batch,
        categories: Option<Vec<u32>>,
        pass: Pass,
    ) -> Result<Self> {
        Ok(Self {
            categories,
            ..Self::new(batch.to_device(device)?, pass)
        })
    }

    /// Creates a micro-batch without class weights.
    pub fn new((points, labels): (Tensor, Tensor), pass: Pass) -> Self {
        let clouds = labels.elem_count();
        Self {
            points,
            labels,
            categories: None,
            pass,
            clouds,
            weight: clouds as f64,
        }
    }
}
