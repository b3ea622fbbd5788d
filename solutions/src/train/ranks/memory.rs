//! The memory of a rank: counted, and predicted.

use anyhow::Result;
use candle_core::Tensor;

use super::sharded::kinds;
use crate::{
    optim::Optimizer,
    precision::{BytesPerParameter, FP32, bytes_per_parameter},
    shard::{Stage, bytes_per_rank},
};

/// What a rank keeps from step to step, in bytes, counted by the sizes of its tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankMemory {
    /// Number of parameters of the model.
    pub parameters: u64,
    /// The model's weights.
    pub weights: u64,
    /// The slices that the optimizer updates, if they are no whole parameters.
    pub copies: u64,
    /// The fp32 master weights.
    pub masters: u64,
    /// The gradients with which the optimizer steps.
    pub gradients: u64,
    /// The optimizer's state, without master weights.
    pub optimizer: u64,
    /// With stage 3, parameters that are gathered for a moment, at most; the prediction does not count them.
    pub passing: u64,
    /// With stage 1, further lists that exist while the optimizer steps: all parameters, and this
    /// rank's part of parameters and gradients; the prediction does not count them.
    pub listed: u64,
    /// Numbers that the optimizer keeps for each parameter.
    pub moments: u32,
}

/// Returns the size of a tensor in bytes.
pub fn bytes(tensor: &Tensor) -> u64 {
    (tensor.elem_count() * tensor.dtype().size_in_bytes()) as u64
}

impl RankMemory {
    /// Adds the masters and the rest of the state of `optimizer`, whose parameters are among `names`.
    ///
    /// # Errors
    /// Returns an error if the state cannot be read.
    pub fn with_state(self, optimizer: &dyn Optimizer, names: &[&str]) -> Result<Self> {
        let state = optimizer.state()?;
        let (others, kinds) = kinds(&state, names);
        let sum = |tensors: &[(String, Tensor)]| tensors.iter().map(|(_, t)| bytes(t)).sum::<u64>();
        let is_master = |(name, _): &&(String, Tensor)| name.ends_with(".master");
        let masters = state.iter().filter(is_master).map(|(_, t)| bytes(t)).sum();
        Ok(Self {
            masters,
            optimizer: sum(&state) - masters - sum(&others),
            moments: kinds.iter().filter(|kind| !kind.is_master()).count() as u32,
            ..self
        })
    }

    /// Returns what [`bytes_per_rank`] predicts: weights with master weights, gradients, optimizer.
    pub fn predicted(&self, stage: Stage, ranks: u64) -> [u64; 3] {
        let each = BytesPerParameter {
            // The formats of a run are those of its products: weights and gradients are stored in fp32.
            master: if self.masters > 0 { 4 } else { 0 },
            ..bytes_per_parameter(FP32, self.moments)
        };
        bytes_per_rank(self.parameters, each, stage, ranks)
    }

    /// Returns weights with master weights and copies, gradients, optimizer.
    pub fn counted(&self) -> [u64; 3] {
        [
            self.weights + self.copies + self.masters,
            self.gradients,
            self.optimizer,
        ]
    }

    /// Returns a summary for users.
    pub fn line(&self, stage: Stage, ranks: u64) -> String {
        let mb = |bytes: [u64; 3]| {
            let [weights, gradients, optimizer] = bytes.map(|b| format!("{:.2} MB", b as f64 / 1e6));
            format!("{weights} of weights, {gradients} of gradients, {optimizer} of optimizer state")
        };
        let passing = match (self.passing, self.listed) {
            (0, 0) => String::new(),
            (0, bytes) => format!(
                " (and lists of {:.2} MB while the optimizer steps)",
                bytes as f64 / 1e6
            ),
            (bytes, _) => format!(
                " (and at most {:.2} MB that are gathered for a moment)",
                bytes as f64 / 1e6
            ),
        };
        format!(
            "rank 0 keeps, with {stage}: {}{passing};\n{:>22}{}",
            mb(self.counted()),
            "predicted: ",
            mb(self.predicted(stage, ranks))
        )
    }
}
