//! One rank's copy of the state that a step changes.

use anyhow::Result;

use super::{Objective, Running, Step, StepInputs, ranks::Member};
use crate::{
    loader::Loaded,
    model::PointNet,
    optim::Optimizer,
    precision::{GradScaler, LossScale, LossScaler},
    profile::{self, Kind},
};

/// One rank's copy of the model under training: the only one of a run without ranks.
pub struct Replica<'a> {
    /// The model.
    pub model: &'a PointNet,
    /// Its optimizer.
    pub optimizer: &'a mut dyn Optimizer,
    /// Scales the loss, if it is scaled.
    pub scaler: Option<&'a mut GradScaler<LossScaler>>,
    /// The epoch's loss and accuracy.
    pub running: &'a mut Running,
    /// The objective.
    pub loss: &'a dyn Objective,
    /// How batches become micro-batches.
    pub inputs: &'a StepInputs,
}

impl Replica<'_> {
    /// Takes optimizer step `step` on `own`, this rank's clouds of each micro-batch in `whole`. Returns whether it was
    /// taken: it is skipped if a gradient overflowed.
    ///
    /// # Errors
    /// Those of [`Step::take`].
    pub fn step(
        &mut self,
        (whole, own): (&[Vec<usize>], &[Loaded]),
        (step, rate): (u64, f64),
        member: Option<&mut Member>,
    ) -> Result<bool> {
        let _span = profile::span("step", Kind::Other);
        let micro = self.inputs.micro_batches(step, own)?;
        let scaler = self.scaler.as_deref_mut();
        let one = Step {
            clip: self.inputs.config.clip,
            scaler: scaler.map(|scaler| scaler as &mut GradScaler<dyn LossScale>),
            ..Step::new(self.model, self.optimizer, self.loss)
        };
        let stepped = match member {
            Some(member) => member.step(one, &micro, self.inputs.rank_share(whole), (step, rate))?,
            None => { one }.take(&micro, rate)?,
        };
        for figures in &stepped.figures {
            self.running.push(figures, stepped.taken)?;
        }
        Ok(stepped.taken)
    }
}
