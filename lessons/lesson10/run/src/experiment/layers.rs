//! Two linear layers with a ReLU between them, over ranks: the first split by columns and the second by rows, or a stage each.

use std::{collections::BTreeMap, thread, time::Duration};

use anyhow::{Context, Result, anyhow};
use candle_core::{DType, Device, Tensor};
use canopy::{
    parallel::{Collective, Link, Rank, chunk, ring_all_reduce, threads::group},
    split::{Action, LinearGrads},
};
use canopy_data::Philox;
use lesson10::Lesson10;

/// Rows of the batch, inputs, hidden numbers, outputs.
pub const SHAPE: [usize; 4] = [64, 96, 384, 96];

/// The layers, a batch, and the gradient of the outputs.
pub struct Layers {
    x: Tensor,
    grad: Tensor,
    weights: [Tensor; 2],
    biases: [Tensor; 2],
}

/// What one rank computes alone: the outputs, and the gradients of both layers.
pub struct Whole {
    output: Tensor,
    grads: [LinearGrads; 2],
}

/// What a rank of several did.
pub struct Part {
    /// Numbers of its parameters.
    pub parameters: usize,
    /// Numbers that it sent in forward passes, and in backward passes.
    pub sent: [u64; 2],
    /// The most micro-batches whose activations it held at one time.
    pub held: usize,
    /// The largest difference of its outputs and gradients from those of one rank.
    pub off: f64,
}

impl Layers {
    pub fn new(seed: u64) -> Result<Self> {
        let [rows, inputs, hidden, outputs] = SHAPE;
        let mut random = Philox::new(seed, 10);
        let mut of = |shape: &[usize]| -> Result<Tensor> {
            let scale = 1.0 / (shape[shape.len() - 1] as f64).sqrt();
            let numbers = (0..shape.iter().product()).map(|_| (random.normal() * scale) as f32);
            Ok(Tensor::from_iter(numbers, &Device::Cpu)?.reshape(shape)?)
        };
        Ok(Self {
            x: of(&[rows, inputs])?,
            grad: of(&[rows, outputs])?,
            weights: [of(&[hidden, inputs])?, of(&[outputs, hidden])?],
            biases: [of(&[hidden])?, of(&[outputs])?],
        })
    }

    /// On one rank, which has whole layers and sends nothing.
    pub fn on_one_rank(&self, answer: &Lesson10) -> Result<Whole> {
        let before = (answer.column_parallel)(&self.x, &self.weights[0], &self.biases[0])?;
        let hidden = before.relu()?;
        let output = (answer.column_parallel)(&hidden, &self.weights[1], &self.biases[1])?;
        let second = (answer.row_parallel_backward)(&hidden, &self.weights[1], &self.grad)?;
        let grad = behind_relu(&second.x, &before)?;
        let first = (answer.row_parallel_backward)(&self.x, &self.weights[0], &grad)?;
        Ok(Whole {
            output,
            grads: [first, second],
        })
    }

    /// A part of each layer on a rank: some hidden numbers.
    pub fn tensor_parallel(&self, answer: &Lesson10, rank: &Rank, whole: &Whole) -> Result<Part> {
        let own = chunk(SHAPE[2], rank.rank(), rank.world_size());
        let part = |t: &Tensor, dim| t.narrow(dim, own.start, own.len())?.contiguous();
        let (first, bias) = (part(&self.weights[0], 0)?, part(&self.biases[0], 0)?);
        let second = part(&self.weights[1], 1)?;
        let before = (answer.column_parallel)(&self.x, &first, &bias)?;
        let hidden = before.relu()?;
        let output = (answer.row_parallel)(rank, &hidden, &second, &self.biases[1])?;
        let forward = rank.traffic().bytes / 4;
        let of_second = (answer.row_parallel_backward)(&hidden, &second, &self.grad)?;
        let grad = behind_relu(&of_second.x, &before)?;
        let of_first = (answer.column_parallel_backward)(rank, &self.x, &first, &grad)?;
        let off = [
            difference(&output, &whole.output)?,
            difference(&of_first.x, &whole.grads[0].x)?,
            difference(&of_first.weight, &part(&whole.grads[0].weight, 0)?)?,
            difference(&of_second.weight, &part(&whole.grads[1].weight, 1)?)?,
        ];
        Ok(Part {
            parameters: first.elem_count() + bias.elem_count() + second.elem_count() + SHAPE[3],
            sent: [forward, rank.traffic().bytes / 4 - forward],
            held: 1,
            off: off.into_iter().fold(0.0, f64::max),
        })
    }

    /// A layer on each of two ranks, which computes its passes in the order of `orders`.
    pub fn pipeline(
        &self,
        answer: &Lesson10,
        rank: &Rank,
        orders: &[Vec<Action>; 2],
        micro_batches: usize,
        whole: &Whole,
    ) -> Result<Part> {
        let stage = rank.rank();
        let (weight, bias) = (&self.weights[stage], &self.biases[stage]);
        let each = SHAPE[0] / micro_batches;
        let mut kept = BTreeMap::new();
        let (mut ends, mut sum, mut held) = (Vec::new(), weight.zeros_like()?, 0);
        for &action in &orders[stage] {
            match action {
                Action::Forward(i) => {
                    let x = match stage {
                        0 => self.x.narrow(0, i * each, each)?,
                        _ => receive(rank, 0, each)?,
                    };
                    let y = (answer.column_parallel)(&x, weight, bias)?;
                    match stage {
                        0 => send(rank, 1, &y.relu()?)?,
                        _ => ends.push(y.clone()),
                    }
                    kept.insert(i, (x, y));
                }
                Action::Backward(i) => {
                    let (x, y) = kept.remove(&i).context("a backward pass is too early")?;
                    let grad = match stage {
                        0 => behind_relu(&receive(rank, 1, each)?, &y)?,
                        _ => self.grad.narrow(0, i * each, each)?,
                    };
                    let grads = (answer.row_parallel_backward)(&x, weight, &grad)?;
                    match stage {
                        0 => ends.push(grads.x),
                        _ => send(rank, 0, &grads.x)?,
                    }
                    sum = (sum + grads.weight)?;
                }
            }
            held = held.max(kept.len());
        }
        let expected = [&whole.grads[0].x, &whole.output][stage];
        let end = difference(&Tensor::cat(&ends, 0)?, expected)?;
        let mut sent = [0, 0];
        sent[stage] = rank.traffic().bytes / 4;
        Ok(Part {
            parameters: weight.elem_count() + bias.elem_count(),
            sent,
            held,
            off: end.max(difference(&sum, &whole.grads[stage].weight)?),
        })
    }
}

/// The gradient of the numbers before a ReLU.
fn behind_relu(grad: &Tensor, before: &Tensor) -> Result<Tensor> {
    Ok((grad * before.gt(0f32)?.to_dtype(DType::F32)?)?)
}

fn send(rank: &Rank, to: usize, numbers: &Tensor) -> Result<()> {
    rank.send(to, &numbers.flatten_all()?.to_vec1::<f32>()?)
}

/// The hidden numbers of some rows, or their gradients.
fn receive(rank: &Rank, from: usize, rows: usize) -> Result<Tensor> {
    let mut numbers = vec![0.0; rows * SHAPE[2]];
    rank.receive(from, &mut numbers)?;
    Ok(Tensor::from_vec(numbers, (rows, SHAPE[2]), &Device::Cpu)?)
}

fn difference(a: &Tensor, b: &Tensor) -> Result<f64> {
    let largest = (a - b)?.abs()?.flatten_all()?.max(0)?;
    Ok(f64::from(largest.to_scalar::<f32>()?))
}

/// Runs `work` on `world` threads, a rank each. Of parameters, numbers sent, micro-batches held and differences, the result has
/// the largest of all ranks.
pub fn on_ranks(world: usize, work: impl Fn(&Rank) -> Result<Part> + Sync) -> Result<Part> {
    let largest = |a: Part, b: Part| Part {
        parameters: a.parameters.max(b.parameters),
        sent: [a.sent[0].max(b.sent[0]), a.sent[1].max(b.sent[1])],
        held: a.held.max(b.held),
        off: a.off.max(b.off),
    };
    thread::scope(|scope| {
        let work = &work;
        let ranks = group(world, ring_all_reduce, Duration::from_secs(30)).into_iter();
        let threads: Vec<_> = ranks.map(|rank| scope.spawn(move || work(&rank))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        let parts = joined.map(|part| part.map_err(|_| anyhow!("a rank panicked"))?);
        let parts = parts.collect::<Result<Vec<Part>>>()?;
        parts.into_iter().reduce(largest).context("there is no rank")
    })
}
