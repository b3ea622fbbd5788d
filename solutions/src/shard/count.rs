//! Memory of a rank and numbers that it sends, by stage.

use std::fmt;

use serde::Serialize;

use crate::precision::BytesPerParameter;

/// What the ranks share instead of keeping a copy each. A stage shares what the stages before it share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Nothing: plain data parallelism.
    Zero0,
    /// The optimizer's state, and the fp32 master weights if there are any.
    Zero1,
    /// The gradients.
    Zero2,
    /// The parameters.
    Zero3,
}

impl Stage {
    /// All, in order.
    pub const ALL: [Self; 4] = [Self::Zero0, Self::Zero1, Self::Zero2, Self::Zero3];
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zero0 => "data parallel",
            Self::Zero1 => "ZeRO 1",
            Self::Zero2 => "ZeRO 2",
            Self::Zero3 => "ZeRO 3",
        })
    }
}

/// Returns the bytes of weights (with their master weights), gradients and optimizer state that each of `ranks` ranks keeps
/// of `parameters` parameters (section 5 of the paper). Shares are rounded up: the parameters are padded to a multiple of the
/// ranks. A layer's weights that stage 3 gathers for a moment are not counted.
pub fn bytes_per_rank(parameters: u64, each: BytesPerParameter, stage: Stage, ranks: u64) -> [u64; 3] {
    let share = parameters.div_ceil(ranks.max(1));
    let of = |shared: bool, bytes: u32| u64::from(bytes) * if shared { share } else { parameters };
    let stage = stage as u8;
    [
        of(stage >= 3, each.weight) + of(stage >= 1, each.master),
        of(stage >= 2, each.gradient),
        of(stage >= 1, each.optimizer),
    ]
}

/// Returns how many numbers each of `ranks` ranks sends in a step with ring collectives (section 7): a reduce-scatter of the
/// gradients and an all-gather, each (ranks − 1)/ranks of the parameters. Stage 3 gathers the parameters once more, because
/// it releases them between the forward and the backward pass.
pub fn numbers_sent(parameters: u64, stage: Stage, ranks: u64) -> u64 {
    let passes = if stage == Stage::Zero3 { 3 } else { 2 };
    passes * parameters.div_ceil(ranks.max(1)) * (ranks.max(1) - 1)
}
