//! How to spread a training step over ranks.

use serde::Serialize;

use crate::{
    precision::BytesPerParameter,
    shard::{Stage, bytes_per_rank},
};

// ANCHOR: Work
/// A training step to spread over ranks. All numbers are at least 1.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Parameters of the model.
    pub parameters: u64,
    /// What is kept of each parameter.
    pub each: BytesPerParameter,
    /// Activations that the whole model keeps for the backward pass of one sample, in bytes.
    pub activations: u64,
    /// Layers of equal size, one after another.
    pub layers: u64,
    /// Samples in a step, over all ranks.
    pub batch: u64,
}
// ANCHOR_END: Work

// ANCHOR: Machine
/// Nodes of equal ranks. All numbers are at least 1, and bandwidths are above 0.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Number of nodes.
    pub nodes: u64,
    /// Ranks of a node.
    pub ranks_per_node: u64,
    /// Memory of a rank, in bytes.
    pub memory: u64,
    /// Bandwidth from a rank to another one in its node, in bytes per second.
    pub inside: f64,
    /// Bandwidth from a rank to one of another node, in bytes per second.
    pub between: f64,
}
// ANCHOR_END: Machine

// ANCHOR: Choice
/// How a step is spread. All ranks are used: tensor · pipeline · data is their number. Quotients are rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// Ranks that share each layer.
    pub tensor: u64,
    /// Ranks that share the layers: the stages of the pipeline.
    pub pipeline: u64,
    /// Copies of the model, each with its own share of the batch: `batch / data` samples.
    pub data: u64,
    /// What the copies share: the stage of ZeRO.
    pub stage: Stage,
    /// Samples in a micro-batch. With `pipeline` above 1: 1.
    /// Otherwise the most that fit, but at least 1 and at most the share.
    pub micro_batch: u64,
    /// Micro-batches in a step: share / `micro_batch`.
    pub micro_batches: u64,
    /// Bytes that a rank keeps: the sum of `bytes_per_rank(parameters / parts, each, stage, data)`, where parts = tensor ·
    /// pipeline, and `activations / parts` for each sample of min(`pipeline`, `micro_batches`) micro-batches.
    pub bytes: u64,
    /// Whether these are at most the memory of a rank.
    pub fits: bool,
}
// ANCHOR_END: Choice

/// Chooses the simplest way that fits in memory to spread a step. These are the candidates, in this order:
///
/// | tensor | pipeline | stage | candidate only if |
/// |---|---|---|---|
/// | 1 | 1 | `Zero0`: data parallelism | |
/// | 1 | 1 | `Zero1`, then `Zero2`: they send as much | |
/// | 1 | 1 | `Zero3`: it gathers all parameters twice | there is one node, or `between` is at least `inside` |
/// | each divisor of `ranks_per_node` above 1, ascending | 1 | `Zero0` | |
/// | `ranks_per_node` | each divisor of `nodes` above 1 and up to `layers`, ascending | `Zero0` | |
///
/// Tensor parallelism sends activations in each layer, so it stays inside a node. A pipeline sends them only between stages.
///
/// [`Choice`] says how its other fields follow from these; `bytes` is by [`bytes_per_rank`].
///
/// The result is the first candidate that fits, or, if none does, the first of those with the fewest bytes.
pub fn choose(work: &Work, machine: &Machine) -> Choice {
    let divisors = |n: u64| (2..=n).filter(move |d| n.is_multiple_of(*d));
    let mut candidates = vec![(1, 1, Stage::Zero0), (1, 1, Stage::Zero1), (1, 1, Stage::Zero2)];
    if machine.nodes == 1 || machine.between >= machine.inside {
        candidates.push((1, 1, Stage::Zero3));
    }
    let inside = machine.ranks_per_node;
    candidates.extend(divisors(inside).map(|t| (t, 1, Stage::Zero0)));
    let stages = divisors(machine.nodes).filter(|&p| p <= work.layers);
    candidates.extend(stages.map(|p| (inside, p, Stage::Zero0)));
    let spread: Vec<Choice> = candidates
        .into_iter()
        .map(|(tensor, pipeline, stage)| candidate(work, machine, tensor, pipeline, stage))
        .collect();
    let fits = spread.iter().find(|choice| choice.fits);
    *fits
        .or_else(|| spread.iter().min_by_key(|choice| choice.bytes))
        .unwrap_or(&spread[0])
}

/// What a rank keeps if the model is split in this way: [`Choice`] says how its fields follow.
pub fn candidate(work: &Work, machine: &Machine, tensor: u64, pipeline: u64, stage: Stage) -> Choice {
    let parts = tensor * pipeline;
    let data = machine.nodes * machine.ranks_per_node / parts;
    let share = work.batch.div_ceil(data);
    let model: u64 = bytes_per_rank(work.parameters.div_ceil(parts), work.each, stage, data)
        .iter()
        .sum();
    let sample = work.activations.div_ceil(parts);
    let free = machine.memory.saturating_sub(model);
    let micro_batch = match pipeline {
        1 => free.checked_div(sample).unwrap_or(share).clamp(1, share.max(1)),
        _ => 1,
    };
    let micro_batches = share.div_ceil(micro_batch);
    let bytes = model + pipeline.min(micro_batches) * micro_batch * sample;
    Choice {
        tensor,
        pipeline,
        data,
        stage,
        micro_batch,
        micro_batches,
        bytes,
        fits: bytes <= machine.memory,
    }
}
