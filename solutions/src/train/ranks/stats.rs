//! What a rank's steps cost: communication, memory that is counted and predicted, and what its process has allocated.

use std::{collections::HashSet, time::Duration};

use anyhow::Result;
use candle_core::{Tensor, Var};

use super::state::{MASTER, kinds};
use crate::{
    optim::Optimizer,
    parallel::{Reduced, Traffic},
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
    /// Parameters that this rank has sent after its steps; none without ZeRO.
    pub parameters: Traffic,
    /// What it keeps.
    pub memory: Option<RankMemory>,
    /// What the processes have allocated on the CPU; `None` if the ranks are threads, or if this build does not count it.
    pub allocated: Option<Allocated>,
    /// Everything else that it has sent: sums of batch norm, flags after each step, digests of the parameters.
    pub others: Traffic,
}

impl RankStats {
    /// Adds the cost of the gradients of one step.
    pub(super) fn reduced(&mut self, reduced: &Reduced) {
        self.communicating += reduced.communicating.as_secs_f64();
        self.waited += reduced.waited.as_secs_f64();
        self.gradients += reduced.traffic;
    }

    /// Adds `time` in which this rank did nothing but communicate.
    pub(super) fn waited(&mut self, time: Duration) {
        self.communicating += time.as_secs_f64();
        self.waited += time.as_secs_f64();
    }

    /// Returns a summary of a step for users; `None` for a run of one rank.
    pub fn line(&self) -> Option<String> {
        let steps = self.steps.max(1) as f64;
        let each = |bytes: u64| bytes as f64 / steps / 1e6;
        let ms = |seconds: f64| seconds / steps * 1e3;
        let (parameters, reduction) = match self.parameters.bytes {
            0 => (String::new(), "all-reduce"),
            bytes => (format!("{:.2} MB of parameters, ", each(bytes)), "reduction"),
        };
        (self.steps > 0).then(|| {
            format!(
                "rank 0, per step: {:.1} ms; sent {:.2} MB of gradients, {parameters}{:.2} MB for batch norm;\n\
                 {reduction} of gradients {:.1} ms, {:.1} ms of it after the backward pass",
                ms(self.seconds),
                each(self.gradients.bytes),
                each(self.others.bytes),
                ms(self.communicating),
                ms(self.waited)
            )
        })
    }
}

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
        let of_model: HashSet<_> = params.iter().map(|(_, var)| var.id()).collect();
        let copies = own.iter().filter(|(_, var)| !of_model.contains(&var.id()));
        let state = optimizer.state()?;
        let (others, kinds) = kinds(&state, params);
        let sum = |tensors: &[(String, Tensor)]| tensors.iter().map(|(_, t)| bytes(t)).sum::<u64>();
        let is_master = |(name, _): &&(String, Tensor)| name.ends_with(MASTER);
        let masters = state.iter().filter(is_master).map(|(_, t)| bytes(t)).sum();
        Ok(Self {
            parameters: params.iter().map(|(_, var)| var.elem_count() as u64).sum(),
            weights: params.iter().map(|(_, var)| bytes(var)).sum(),
            copies: copies.map(|(_, var)| bytes(var)).sum(),
            masters,
            optimizer: sum(&state) - masters - sum(&others),
            moments: kinds.iter().filter(|kind| **kind != MASTER).count() as u32,
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

/// Bytes that the processes of a run have allocated, as their allocators count them ([`crate::train::memory::held`]): the least and the most of
/// the ranks. A rank's number is its largest of all steps. Data and buffers are included, except for the operators' buffers that wait
/// for the next step; blocks below 16 KiB are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocated {
    /// After a step, when its gradients are freed.
    pub between: [u64; 2],
    /// When the optimizer has stepped, and the gradients still exist.
    pub stepping: [u64; 2],
}

/// When a process measures what it has allocated.
#[derive(Clone, Copy)]
pub enum Moment {
    /// After a step.
    Between,
    /// When the optimizer has stepped.
    Stepped,
}

impl Allocated {
    /// The least and the most of the measurements of all ranks, one moment of a step after another; `None` if a process is not
    /// measured.
    pub fn of_ranks(ranks: impl Iterator<Item = [u64; 2]> + Clone) -> Option<Self> {
        let ends = |which: usize| {
            let each = ranks.clone().map(move |own| own[which]);
            Some([each.clone().min()?, each.max()?])
        };
        let [between, stepping] = [ends(0)?, ends(1)?];
        (between[0] > 0).then_some(Self { between, stepping })
    }

    /// Returns a summary for users.
    pub fn line(&self) -> String {
        let mb =
            |[least, most]: [u64; 2]| format!("{:.2} to {:.2} MB", least as f64 / 1e6, most as f64 / 1e6);
        format!(
            "allocated by the processes of the ranks, with data and the buffers in use, without blocks below 16 KiB: {} when the \
             optimizer steps, {} between steps",
            mb(self.stepping),
            mb(self.between)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_and_the_most_of_the_ranks_are_found() {
        let ranks = [[3 << 40 | 5, 7], [1 << 33, u64::from(u32::MAX)], [9, 8]];
        let found = Allocated::of_ranks(ranks.into_iter()).unwrap();
        assert_eq!(found.between, [9, 3 << 40 | 5]);
        assert_eq!(found.stepping, [7, u64::from(u32::MAX)]);
        assert_eq!(Allocated::of_ranks([[0, 0]].into_iter()), None);
    }
}
