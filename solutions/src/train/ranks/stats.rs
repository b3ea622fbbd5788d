//! What a rank's steps cost, and what it keeps.

use anyhow::Result;
use candle_core::{Tensor, Var};

use super::state::{MASTER, kinds};
use crate::{
    optim::Optimizer,
    parallel::Traffic,
    precision::{BytesPerParameter, FP32, bytes_per_parameter},
    shard::{Stage, bytes_per_rank},
};

/// Steps and communication of one rank so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankStats {
    /// Steps taken.
    pub steps: u64,
    /// Time of the steps, without loading, in seconds.
    pub seconds: f64,
    /// Time of the reductions of gradients, including the time spent waiting for other ranks, in seconds.
    pub communicating: f64,
    /// The part of it after the end of the backward pass, in seconds; the rest was hidden behind the backward pass.
    pub waited: f64,
    /// Gradients that this rank has sent.
    pub gradients: Traffic,
    /// Parameters that this rank has sent; none without ZeRO.
    pub parameters: Traffic,
    /// Everything else that it has sent: sums of batch norm, flags after each step, digests of the parameters.
    pub others: Traffic,
    /// What it keeps.
    pub memory: Option<RankMemory>,
}

impl RankStats {
    /// Returns a summary of a step for users; `None` for a run of one rank.
    pub fn line(&self) -> Option<String> {
        let of_step = |sum: f64| sum / self.steps as f64;
        let mb = |traffic: Traffic| of_step(traffic.bytes as f64 / 1e6);
        let ms = |seconds: f64| of_step(1e3 * seconds);
        let parameters = match self.parameters.bytes {
            0 => String::new(),
            _ => format!("{:.2} MB of parameters, ", mb(self.parameters)),
        };
        (self.steps > 0).then(|| {
            format!(
                "rank 0, per step: {:.1} ms; sent {:.2} MB of gradients, {parameters}{:.2} MB for batch norm;\n\
                 reduction of gradients {:.1} ms, {:.1} ms of it after the backward pass",
                ms(self.seconds),
                mb(self.gradients),
                mb(self.others),
                ms(self.communicating),
                ms(self.waited)
            )
        })
    }
}

/// What a rank keeps from step to step, in bytes, counted by the sizes of its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankMemory {
    /// What the ranks share.
    pub stage: Stage,
    /// Weights with master weights and copies, gradients, optimizer state.
    pub counted: [u64; 3],
    /// What [`crate::shard::bytes_per_rank`] predicts of the same.
    pub predicted: [u64; 3],
    /// The slices that the optimizer updates and that are no whole parameters: part of the counted weights.
    pub copies: u64,
}

/// Returns the size of all `tensors` in bytes.
pub fn bytes<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> u64 {
    let each = tensors.into_iter();
    each.map(|tensor| (tensor.elem_count() * tensor.dtype().size_in_bytes()) as u64)
        .sum()
}

impl RankMemory {
    /// Counts the model's parameters `params`, the `copies` of their slices, the `gradients` and the state of `optimizer`; the
    /// prediction is that of a stage and a number of ranks.
    pub fn of(
        optimizer: &dyn Optimizer,
        params: &[(String, Var)],
        (stage, ranks): (Stage, u64),
        (copies, gradients): (u64, u64),
    ) -> Result<Self> {
        let state = optimizer.state()?;
        let (others, kinds) = kinds(&state, params);
        let size = |tensors: &[(String, Tensor)]| bytes(tensors.iter().map(|(_, tensor)| tensor));
        let masters = state.iter().filter(|(name, _)| name.ends_with(MASTER));
        let masters = bytes(masters.map(|(_, tensor)| tensor));
        let moments = kinds.iter().filter(|kind| **kind != MASTER).count();
        let each = BytesPerParameter {
            // The formats of a run are those of its products: weights and gradients are stored in fp32.
            master: if masters > 0 { 4 } else { 0 },
            ..bytes_per_parameter(FP32, moments as u32)
        };
        let vars = params.iter().map(|(_, var)| var.as_tensor());
        let parameters = vars.clone().map(|var| var.elem_count() as u64).sum();
        Ok(Self {
            stage,
            counted: [
                bytes(vars) + masters + copies,
                gradients,
                size(&state) - masters - size(&others),
            ],
            predicted: bytes_per_rank(parameters, each, stage, ranks),
            copies,
        })
    }

    /// Returns a summary for users.
    pub fn line(&self) -> String {
        let mb = |bytes: [u64; 3]| {
            let [weights, gradients, optimizer] = bytes.map(|b| format!("{:.2} MB", b as f64 / 1e6));
            format!("{weights} of weights, {gradients} of gradients, {optimizer} of optimizer state")
        };
        format!(
            "rank 0 keeps, with {}: {};\n{:>22}{}",
            self.stage,
            mb(self.counted),
            "predicted: ",
            mb(self.predicted)
        )
    }
}
