//! Answers from parts, so that a mistake changes one of them.

use anyhow::Result;
use candle_core::Tensor;
use canopy::{
    parallel::Collective,
    precision::BytesPerParameter,
    shard::{Stage, bytes_per_rank},
    split::{
        Action::{self, Backward, Forward},
        Choice, LinearGrads, Machine, Work, sum_over_ranks,
    },
};

/// A product with the transposed weight, without a bias.
pub fn product(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    Ok(x.matmul(&weight.t()?)?)
}

/// The gradients of a whole linear layer.
pub fn gradients(x: &Tensor, weight: &Tensor, grad: &Tensor) -> Result<LinearGrads> {
    Ok(LinearGrads {
        x: grad.matmul(weight)?,
        weight: grad.t()?.matmul(x)?,
        bias: grad.sum(0)?,
    })
}

/// [`gradients`] with one of them changed after the sum of that of x.
pub fn with(
    c: &dyn Collective,
    (x, weight, grad): (&Tensor, &Tensor, &Tensor),
    change: impl Fn(&mut LinearGrads) -> Result<()>,
) -> Result<LinearGrads> {
    let mut all = gradients(x, weight, grad)?;
    all.x = sum_over_ranks(c, &all.x)?;
    change(&mut all)?;
    Ok(all)
}

/// A 1F1B order with another warm-up, and with the micro-batch of each backward pass as `back` says.
pub fn one_f_one_b(warm_up: usize, micro_batches: usize) -> Vec<Action> {
    let warm_up = warm_up.min(micro_batches);
    let mut order: Vec<Action> = (0..warm_up).map(Forward).collect();
    for i in warm_up..micro_batches {
        order.extend([Forward(i), Backward(i - warm_up)]);
    }
    order.extend((micro_batches - warm_up..micro_batches).map(Backward));
    order
}

/// The parts of the planner.
#[derive(Clone, Copy)]
pub struct Plan {
    pub zero: fn(&Machine) -> Vec<Stage>,
    pub tensor: fn(&Machine) -> Vec<u64>,
    /// Pairs of tensor and pipeline.
    pub pipeline: fn(&Work, &Machine) -> Vec<(u64, u64)>,
    /// From all ranks, tensor and pipeline.
    pub data: fn(u64, u64, u64) -> u64,
    /// The stage of ZeRO of a split model.
    pub split: Stage,
    /// What a rank keeps of the model, as `bytes_per_rank`.
    pub model: fn(u64, BytesPerParameter, Stage, u64) -> u64,
    pub share: fn(u64, u64) -> u64,
    /// From a number, tensor and pipeline.
    pub parameters: fn(u64, u64, u64) -> u64,
    pub activations: fn(u64, u64, u64) -> u64,
    /// From free memory, a sample's activations, the share and the pipeline.
    pub micro_batch: fn(u64, u64, u64, u64) -> u64,
    pub micro_batches: fn(u64, u64) -> u64,
    /// The samples that count, of those of a micro-batch.
    pub samples: fn(u64) -> u64,
    /// From the pipeline and the micro-batches.
    pub held: fn(u64, u64) -> u64,
    pub fits: fn(u64, u64) -> bool,
    pub none: fn(&[Choice]) -> usize,
}

pub fn divisors(n: u64) -> Vec<u64> {
    (2..=n).filter(|d| n.is_multiple_of(*d)).collect()
}

pub fn stages(work: &Work, nodes: u64) -> Vec<u64> {
    divisors(nodes)
        .into_iter()
        .filter(|p| *p <= work.layers)
        .collect()
}

pub fn least(choices: &[Choice]) -> usize {
    (0..choices.len())
        .min_by_key(|&i| choices[i].bytes)
        .unwrap_or_default()
}

pub const PLAN: Plan = Plan {
    zero: |m| {
        let all = Stage::ALL.to_vec();
        if m.nodes == 1 || m.between >= m.inside {
            all
        } else {
            all[..3].to_vec()
        }
    },
    tensor: |m| divisors(m.ranks_per_node),
    pipeline: |w, m| {
        stages(w, m.nodes)
            .into_iter()
            .map(|p| (m.ranks_per_node, p))
            .collect()
    },
    data: |ranks, t, p| ranks / (t * p),
    split: Stage::Zero0,
    model: |own, each, stage, data| bytes_per_rank(own, each, stage, data).iter().sum(),
    share: u64::div_ceil,
    parameters: |n, t, p| n.div_ceil(t * p),
    activations: |n, t, p| n.div_ceil(t * p),
    micro_batch: |free, sample, share, p| if p > 1 { 1 } else { (free / sample).clamp(1, share) },
    micro_batches: u64::div_ceil,
    samples: |micro_batch| micro_batch,
    held: |p, m| p.min(m),
    fits: |bytes, memory| bytes <= memory,
    none: least,
};

/// All candidates of `plan`.
pub fn spread(work: &Work, machine: &Machine, plan: &Plan) -> Vec<Choice> {
    let mut all: Vec<(u64, u64, Stage)> = (plan.zero)(machine).into_iter().map(|s| (1, 1, s)).collect();
    all.extend((plan.tensor)(machine).into_iter().map(|t| (t, 1, plan.split)));
    all.extend(
        (plan.pipeline)(work, machine)
            .into_iter()
            .map(|(t, p)| (t, p, plan.split)),
    );
    let one = |(tensor, pipeline, stage)| {
        let data = (plan.data)(machine.nodes * machine.ranks_per_node, tensor, pipeline).max(1);
        let share = (plan.share)(work.batch, data).max(1);
        let own = (plan.parameters)(work.parameters, tensor, pipeline);
        let model = (plan.model)(own, work.each, stage, data);
        let sample = (plan.activations)(work.activations, tensor, pipeline);
        let free = machine.memory.saturating_sub(model);
        let micro_batch = (plan.micro_batch)(free, sample, share, pipeline);
        let micro_batches = (plan.micro_batches)(share, micro_batch);
        let bytes = model + (plan.held)(pipeline, micro_batches) * (plan.samples)(micro_batch) * sample;
        let fits = (plan.fits)(bytes, machine.memory);
        Choice {
            tensor,
            pipeline,
            data,
            stage,
            micro_batch,
            micro_batches,
            bytes,
            fits,
        }
    };
    all.into_iter().map(one).collect()
}

pub fn planned(work: &Work, machine: &Machine, plan: Plan) -> Choice {
    let all = spread(work, machine, &plan);
    let first = all.iter().position(|choice| choice.fits);
    all[first.unwrap_or_else(|| (plan.none)(&all))]
}
