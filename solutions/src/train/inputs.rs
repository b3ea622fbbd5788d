//! What each step of a run learns from: which clouds, as which tensors, at what learning rate. It is the same plan for
//! every rank.

use std::sync::Arc;

use anyhow::Result;
use candle_core::Tensor;

use super::{Loss, MicroBatch, NumberLoss, Objective, Trainer, ranks::RankShare, remaining};
use crate::{
    kernels::{Pass, Share},
    loader::{Batch, iterations},
    profile::{self, Kind},
};

/// What all steps of a run have in common.
pub(super) struct StepInputs {
    pub loss: Arc<dyn Objective>,
    /// Weight of each species in the loss, if they are weighted.
    class_weights: Option<Vec<f32>>,
    /// This rank's part of each batch; none with one rank.
    share: Option<Share>,
}

impl Trainer {
    /// Clouds of a step.
    fn step_size(&self) -> usize {
        self.config.batch * self.config.accumulate
    }

    /// Returns the number of optimizer steps per epoch.
    pub fn steps_per_epoch(&self) -> u64 {
        iterations(self.split.train.len(), self.step_size(), true) as u64
    }

    /// The records of each step of epoch `epoch` except the first `done`.
    pub(super) fn batches(&self, epoch: usize, done: usize) -> Result<Vec<Vec<usize>>> {
        remaining(
            &self.split.train,
            self.step_size(),
            self.config.seed,
            (epoch, done),
        )
    }

    /// Returns the learning rate of step `step`.
    pub(super) fn learning_rate(&self, step: u64) -> Result<f64> {
        let steps = self.steps_per_epoch();
        let total = steps * self.config.epochs as u64;
        let (warmup, base) = (self.config.warmup, self.config.learning_rate);
        self.config.schedule.rate(step, [steps, total], warmup, base)
    }

    /// What the steps of the rank with `share` have in common.
    pub(super) fn step_inputs(&self, share: Option<Share>) -> Result<StepInputs> {
        let (smoothing, orthogonality) = (self.config.smoothing, self.config.orthogonality);
        let weighted = self.config.class_weights;
        let class_weights = weighted.then(|| canopy_data::split::class_weights(&self.training_counts()));
        let loss: Arc<dyn Objective> = match &self.number {
            Some(number) => Arc::new(NumberLoss {
                head: number.head.clone(),
                orthogonality,
            }),
            None => Arc::new(Loss {
                smoothing,
                class_weights: class_weights
                    .as_deref()
                    .map(|weights| Tensor::new(weights, &self.device.device))
                    .transpose()?,
                orthogonality,
            }),
        };
        Ok(StepInputs {
            loss,
            class_weights,
            share,
        })
    }

    /// The micro-batches of optimizer step `step`, copied to the device. Passes are numbered over all steps, so that each
    /// draws its own dropout.
    pub(super) fn micro_batches(
        &self,
        inputs: &StepInputs,
        step: u64,
        batches: &[Batch],
    ) -> Result<Vec<MicroBatch>> {
        let _span = profile::span("to device", Kind::Copy);
        let first = step * self.config.accumulate as u64;
        let micro = |(pass, batch): (u64, &Batch)| {
            let mut pass = Pass::train(self.config.seed, pass)
                .plain(self.config.plain)
                .lowered(self.lowering.clone());
            if let Some(share) = &inputs.share {
                pass = pass.shared(share.clone());
            }
            let categories = self.categories.as_ref();
            let categories = categories.map(|of| batch.records.iter().map(|&r| of[r]).collect());
            let mut micro = MicroBatch {
                weight: self.weight(inputs, &batch.records),
                ..MicroBatch::on(&self.device.device, batch, categories, pass)?
            };
            if let Some(number) = &self.number {
                let label = |&r: &usize| number.head.label(number.values[r]);
                let labels: Vec<f32> = batch.records.iter().map(label).collect();
                micro.labels = Tensor::new(labels, &self.device.device)?;
            }
            Ok(micro)
        };
        (first..).zip(batches).map(micro).collect()
    }

    /// What the ranks share in a step: `whole` are the records of each of its micro-batches.
    pub(super) fn rank_share(&self, inputs: &StepInputs, whole: &[Vec<usize>]) -> RankShare {
        RankShare {
            world_size: self.config.ranks,
            clouds: whole.iter().map(Vec::len).sum(),
            weight: whole.iter().map(|records| self.weight(inputs, records)).sum(),
        }
    }

    /// Returns the weight of the loss of `records` within a step.
    fn weight(&self, inputs: &StepInputs, records: &[usize]) -> f64 {
        let species = records.iter().map(|&r| self.data.records[r].species);
        match &inputs.class_weights {
            Some(of) => species.map(|s| f64::from(of[s])).sum(),
            None => records.len() as f64,
        }
    }
}
