//! From loaded batches to the micro-batches of a step.

use std::sync::Arc;

use anyhow::Result;
use candle_core::{Device, Tensor};

use super::{Config, MicroBatch, RankShare};
use crate::{
    kernels::{Lowering, Pass, Share},
    loader::Batch,
    profile::{self, Kind},
};

/// What a rank needs to turn batches into micro-batches.
#[derive(Clone, Debug)]
pub struct StepInputs {
    /// The run's configuration.
    pub config: Config,
    /// Where the model is.
    pub device: Device,
    /// Low-precision formats of the operators; none in fp32.
    pub lowering: Option<Arc<dyn Lowering>>,
    /// Weight of each species in the loss, if they are weighted.
    pub class_weights: Option<Vec<f32>>,
    /// The species of each record.
    pub species: Vec<usize>,
    /// What the loss expects for each record instead of its species, if the run predicts a number.
    pub labels: Option<Vec<f32>>,
    /// The category of each record, for a network with an embedding.
    pub categories: Option<Vec<u32>>,
    /// This rank's part of each batch; none with one rank.
    pub share: Option<Share>,
}

impl StepInputs {
    /// The micro-batches of optimizer step `step`, copied to the device.
    ///
    /// # Errors
    /// candle's, if the device is out of memory.
    pub fn micro_batches(&self, step: u64, batches: &[Batch]) -> Result<Vec<MicroBatch>> {
        let _span = profile::span("to device", Kind::Copy);
        let micro = |(i, batch): (usize, &Batch)| {
            let mut micro = MicroBatch {
                weight: self.weight(&batch.records),
                mask: batch.mask_tensor()?,
                ..MicroBatch::new(batch.to_device(&self.device)?, self.pass(step, i))
            };
            if let Some(labels) = &self.labels {
                let labels: Vec<f32> = batch.records.iter().map(|&r| labels[r]).collect();
                micro.labels = Tensor::new(labels, &self.device)?;
            }
            let categories = self.categories.as_ref();
            micro.categories = categories.map(|of| batch.records.iter().map(|&r| of[r]).collect());
            Ok(micro)
        };
        batches.iter().enumerate().map(micro).collect()
    }

    /// What the ranks share in a step: `whole` are the records of each of its micro-batches.
    pub fn rank_share(&self, whole: &[Vec<usize>]) -> RankShare {
        RankShare {
            world_size: self.config.ranks,
            clouds: whole.iter().map(Vec::len).sum(),
            weight: whole.iter().map(|records| self.weight(records)).sum(),
        }
    }

    /// Returns the weight of the cross-entropy of `records` within a step.
    fn weight(&self, records: &[usize]) -> f64 {
        match &self.class_weights {
            Some(of) => {
                let weights = records.iter().map(|&r| f64::from(of[self.species[r]]));
                weights.sum()
            }
            None => records.len() as f64,
        }
    }

    /// Returns the pass of micro-batch `micro`. Passes are numbered over all steps, so that each draws its own dropout.
    fn pass(&self, step: u64, micro: usize) -> Pass {
        let count = step * self.config.accumulate as u64 + micro as u64;
        let pass = Pass::train(self.config.seed, count)
            .plain(self.config.plain)
            .lowered(self.lowering.clone());
        match &self.share {
            Some(share) => pass.shared(share.clone()),
            None => pass,
        }
    }
}
