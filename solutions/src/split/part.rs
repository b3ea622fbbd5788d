//! One rank's part of a split model, and its training step.

use std::time::Instant;

use anyhow::Result;
use candle_core::{DType, Tensor, Var};

use super::{
    Bytes, Groups, MicroBatch, Setting, Slot,
    layer::Layer,
    own::Own,
    pipeline::{Timed, run_pipeline},
    step::Step,
    sum_over_ranks,
};
use crate::{
    optim::{OptimConfig, Optimizer},
    parallel::Collective,
};

/// One rank's part of a model.
pub struct Part {
    own: Own,
    orders: Vec<Vec<Slot>>,
    optimizer: Box<dyn Optimizer>,
}

/// The result of a forward and backward pass of a whole step on one rank.
pub struct Passed {
    /// The sum of the losses of this rank's clouds over the number of all clouds; only the last stage knows it.
    pub loss: Option<f64>,
    /// The gradients of this rank's parameters, reduced over the ranks, in the order of [`Part::params`].
    pub gradients: Vec<Tensor>,
    /// When each slot of the schedule ran.
    pub times: Vec<Timed>,
    /// The most bytes of activations that were kept at one time.
    pub activations: u64,
}

impl Part {
    /// Creates this rank's part. Every rank of `whole` calls it with the same setting.
    ///
    /// # Errors
    /// Returns an error if the setting does not fit together or to the number of ranks.
    pub fn new(setting: &Setting, whole: Box<dyn Collective>) -> Result<Self> {
        let own = Own::new(setting, whole)?;
        let params = own.layers().flat_map(Layer::params);
        let named = params.enumerate().map(|(i, var)| (format!("parameter.{i}"), var));
        Ok(Self {
            optimizer: OptimConfig::adamw().build(named.collect())?,
            orders: setting.orders(),
            own,
        })
    }

    /// This rank's layers, in the order of its stages.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.own.layers()
    }

    /// This rank's parameters, layer by layer.
    pub fn params(&self) -> Vec<Var> {
        self.layers().flat_map(Layer::params).collect()
    }

    /// This rank's groups.
    pub fn groups(&self) -> &Groups {
        &self.own.groups
    }

    /// Waits for all ranks.
    ///
    /// # Errors
    /// Returns an error if another rank ended.
    pub fn barrier(&self) -> Result<()> {
        let groups = &self.own.groups;
        [&groups.tensor, &groups.sequence, &groups.data, &groups.pipeline]
            .into_iter()
            .try_for_each(Collective::barrier)
    }

    /// Computes loss and gradients of a step. `batch` returns micro-batch i of all; this rank takes i = its data rank + a
    /// multiple of the number of data ranks.
    ///
    /// # Errors
    /// Returns an error if candle or another rank fails.
    pub fn gradients(&self, batch: &dyn Fn(usize) -> Result<MicroBatch>) -> Result<Passed> {
        let mut step = Step::new(&self.own, batch);
        let times = run_pipeline(
            &self.own.groups.pipeline,
            &self.orders,
            self.own.setting.chunks,
            &mut step,
        )?;
        let (loss, activations) = (step.loss, step.most);
        let mut gradients = Vec::new();
        for (layer, own) in self.layers().zip(step.gradients.into_iter().flatten()) {
            for gradient in own {
                gradients.push(self.reduced(gradient, layer.shape.over_points)?);
            }
        }
        Ok(Passed {
            loss,
            gradients,
            times,
            activations,
        })
    }

    /// The sum of a gradient over the ranks with other rows.
    fn reduced(&self, gradient: Tensor, over_points: bool) -> Result<Tensor> {
        let mut sum = gradient;
        if let Some(ranks) = self.own.groups.of_rows(over_points) {
            sum = sum_over_ranks(ranks, &sum)?;
        }
        if self.own.setting.mesh.data > 1 {
            sum = sum_over_ranks(&self.own.groups.data, &sum)?;
        }
        Ok(sum)
    }

    /// Takes one optimizer step. Returns the result of its passes, and its time in seconds.
    ///
    /// # Errors
    /// As [`Self::gradients`].
    pub fn step(
        &mut self,
        batch: &dyn Fn(usize) -> Result<MicroBatch>,
        learning_rate: f64,
    ) -> Result<(Passed, f64)> {
        let began = Instant::now();
        let passed = self.gradients(batch)?;
        self.optimizer.step(&passed.gradients, learning_rate)?;
        Ok((passed, began.elapsed().as_secs_f64()))
    }

    /// The bytes that this rank keeps, counted from its tensors, with the gradients and activations of `passed`.
    ///
    /// # Errors
    /// Returns an error if the optimizer's state cannot be read.
    pub fn bytes(&self, passed: &Passed) -> Result<Bytes> {
        let size = |t: &Tensor| (t.elem_count() * t.dtype().size_in_bytes()) as u64;
        let state = self.optimizer.state()?;
        let moments = state.iter().filter(|(_, t)| t.dtype() == DType::F32);
        Ok(Bytes {
            parameters: self.params().iter().map(|var| size(var)).sum(),
            gradients: passed.gradients.iter().map(size).sum(),
            optimizer: moments.map(|(_, t)| size(t)).sum(),
            activations: passed.activations,
        })
    }
}
