//! The memory of a rank of a run with ZeRO: counted, and predicted.

use crate::{
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
    /// Numbers that the optimizer keeps for each parameter.
    pub moments: u32,
}

impl RankMemory {
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
