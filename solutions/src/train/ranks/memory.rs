//! The memory of a rank: counted, and predicted.

use std::collections::HashSet;

use anyhow::Result;
use candle_core::{Tensor, Var};

use super::state::kinds;
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
    /// The gradients that the reduction leaves on this rank.
    pub gradients: u64,
    /// The optimizer's state, without master weights.
    pub optimizer: u64,
    /// With stage 3, parameters that are gathered for a moment, at most; the prediction does not count them.
    pub passing: u64,
    /// Numbers that the optimizer keeps for each parameter.
    pub moments: u32,
}

/// Returns the size of a tensor in bytes.
pub fn bytes(tensor: &Tensor) -> u64 {
    (tensor.elem_count() * tensor.dtype().size_in_bytes()) as u64
}

/// Returns the size of all `tensors` in bytes.
pub fn bytes_of(tensors: &[Tensor]) -> u64 {
    tensors.iter().map(bytes).sum()
}

impl RankMemory {
    /// Counts what a rank keeps besides gradients: the model's parameters `params`, and the state of `optimizer` and the copies
    /// among `own`, the slices that it updates.
    pub fn of(params: &[(String, Var)], own: &[(String, Var)], optimizer: &dyn Optimizer) -> Result<Self> {
        let names: Vec<&str> = params.iter().map(|(name, _)| name.as_str()).collect();
        let of_model: HashSet<_> = params.iter().map(|(_, var)| var.id()).collect();
        let copies = own.iter().filter(|(_, var)| !of_model.contains(&var.id()));
        let state = optimizer.state()?;
        let (others, kinds) = kinds(&state, &names);
        let sum = |tensors: &[(String, Tensor)]| tensors.iter().map(|(_, t)| bytes(t)).sum::<u64>();
        let is_master = |(name, _): &&(String, Tensor)| name.ends_with(".master");
        let masters = state.iter().filter(is_master).map(|(_, t)| bytes(t)).sum();
        Ok(Self {
            parameters: params.iter().map(|(_, var)| var.elem_count() as u64).sum(),
            weights: params.iter().map(|(_, var)| bytes(var)).sum(),
            copies: copies.map(|(_, var)| bytes(var)).sum(),
            masters,
            optimizer: sum(&state) - masters - sum(&others),
            moments: kinds.iter().filter(|kind| !kind.is_master()).count() as u32,
            ..Self::default()
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
        let passing = match self.passing {
            0 => String::new(),
            bytes => format!(
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
