//! What a rank keeps and sends, counted from the shapes before anything runs.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{Action, LayerShape, Sent, Setting, Share, Split};
use crate::parallel::{Traffic, chunk};

/// Bytes that one rank keeps. What an operator needs for a moment is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// The weights.
    pub parameters: u64,
    /// Their gradients.
    pub gradients: u64,
    /// The optimizer's state.
    pub optimizer: u64,
    /// What forward passes keep for backward passes, at the moment of the step at which it is most.
    pub activations: u64,
}

impl Bytes {
    /// The sum.
    pub fn total(&self) -> u64 {
        self.parameters + self.gradients + self.optimizer + self.activations
    }
}

/// Bytes of an f32 or u32.
const FOUR: u64 = 4;
/// Adam keeps two numbers for each parameter.
const MOMENTS: u64 = 2;

/// Returns what rank `rank` keeps in a step.
///
/// # Errors
/// Returns an error if there are more stages than layers.
pub fn bytes_of_rank(setting: &Setting, rank: usize) -> Result<Bytes> {
    let share = setting.share(rank)?;
    let own = own_stages(setting, &share);
    let numbers: usize = own
        .iter()
        .copied()
        .flatten()
        .flat_map(|l| parameters(&share, l))
        .sum();
    let parameters = FOUR * numbers as u64;
    let kept: Vec<u64> = own
        .iter()
        .map(|layers| layers.iter().map(|l| kept(setting, &share, l)).sum())
        .collect();
    let (mut held, mut activations) = (0, 0);
    for slot in &setting.orders()[share.position.pipeline] {
        match slot.action {
            Action::Forward(_) => held += kept[slot.chunk],
            Action::Backward(_) => held -= kept[slot.chunk],
        }
        activations = held.max(activations);
    }
    Ok(Bytes {
        parameters,
        gradients: parameters,
        optimizer: MOMENTS * parameters,
        activations,
    })
}

/// The layers of each of the rank's stages.
fn own_stages<'a>(setting: &Setting, share: &'a Share) -> Vec<&'a Vec<LayerShape>> {
    let stages = share.stages.iter();
    stages
        .skip(share.position.pipeline)
        .step_by(setting.mesh.pipeline)
        .collect()
}

/// How many numbers each parameter of a layer has on a rank: the weight, then γ and β or the bias.
fn parameters(share: &Share, layer: &LayerShape) -> Vec<usize> {
    let (inputs, outputs) = share.sizes(layer);
    match layer.is_last {
        true => vec![inputs * outputs, outputs],
        false => vec![inputs * outputs, outputs, outputs],
    }
}

/// Bytes that a layer keeps of a micro-batch: its input, and the normalised outputs with their scales or the gradient of the
/// loss, and the winners of the maximum.
fn kept(setting: &Setting, share: &Share, layer: &LayerShape) -> u64 {
    let (inputs, outputs) = share.sizes(layer);
    let rows = share.rows_of(layer);
    let scales = if layer.is_last { 0 } else { outputs };
    let winners = match (layer.is_before_max, setting.mesh.sequence) {
        (false, _) => 0,
        (true, 1) => share.rows.clouds * outputs,
        (true, _) => 2 * share.rows.clouds * outputs,
    };
    FOUR * (rows * (inputs + outputs) + scales + winners) as u64
}

/// Returns what rank `rank` sends in a step.
///
/// # Errors
/// As [`bytes_of_rank`].
pub fn sent_by_rank(setting: &Setting, rank: usize) -> Result<Sent> {
    let share = setting.share(rank)?;
    let (mesh, position) = (setting.mesh, share.position);
    let mut sent = Sent::default();
    for layer in own_stages(setting, &share).into_iter().flatten() {
        let rows = share.rows_of(layer);
        let outputs = share.sizes(layer).1;
        let over_tensor = match layer.split {
            Split::Rows => rows * layer.outputs,
            Split::Columns if layer.index > 0 => rows * layer.inputs,
            _ => 0,
        };
        let mut of_micro_batch = vec![all_reduce(over_tensor, position.tensor, mesh.tensor)];
        of_micro_batch.retain(|t| t.bytes > 0);
        add(&mut sent.tensor, &of_micro_batch, setting.micro_batches);
        if layer.over_points {
            let sum = |numbers| all_reduce(numbers, position.sequence, mesh.sequence);
            // Mean and variance forward, two sums in one message backward.
            let mut of_micro_batch = vec![sum(outputs), sum(outputs), sum(2 * outputs)];
            if layer.is_before_max {
                let numbers = share.rows.clouds * outputs;
                of_micro_batch.push(all_gather(numbers, mesh.sequence));
            }
            add(&mut sent.sequence, &of_micro_batch, setting.micro_batches);
        }
        for numbers in parameters(&share, layer) {
            if layer.over_points {
                add(
                    &mut sent.sequence,
                    &[all_reduce(numbers, position.sequence, mesh.sequence)],
                    1,
                );
            }
            add(
                &mut sent.data,
                &[all_reduce(numbers, position.data, mesh.data)],
                1,
            );
        }
    }
    if mesh.pipeline > 1 {
        for stage in (position.pipeline..setting.stages()).step_by(mesh.pipeline) {
            let forward = share.numbers_after(stage);
            let backward = if stage == 0 {
                0
            } else {
                share.numbers_after(stage - 1)
            };
            let forward = if stage + 1 == setting.stages() { 0 } else { forward };
            for numbers in [forward, backward] {
                let message = Traffic {
                    messages: u64::from(numbers > 0),
                    bytes: FOUR * numbers as u64,
                };
                add(&mut sent.pipeline, &[message], setting.micro_batches);
            }
        }
    }
    Ok(sent)
}

fn add(sum: &mut Traffic, more: &[Traffic], times: usize) {
    for traffic in more {
        sum.messages += traffic.messages * times as u64;
        sum.bytes += traffic.bytes * times as u64;
    }
}

/// What rank `rank` of `world` sends in a ring all-reduce: all chunks but one, twice.
fn all_reduce(numbers: usize, rank: usize, world: usize) -> Traffic {
    let of = |rank: usize| chunk(numbers, rank % world, world).len();
    let sent = 2 * numbers - of(rank) - of(rank + 1);
    if world == 1 || numbers == 0 {
        return Traffic::default();
    }
    Traffic {
        messages: 2 * (world as u64 - 1),
        bytes: FOUR * sent as u64,
    }
}

/// What a rank sends in a ring all-gather of `numbers` numbers of each rank.
fn all_gather(numbers: usize, world: usize) -> Traffic {
    let others = world as u64 - 1;
    Traffic {
        messages: others,
        bytes: FOUR * others * numbers as u64,
    }
}
