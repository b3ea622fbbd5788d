//! Two linear layers with a ReLU between them, the first split by columns and the second by rows.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy::{
    parallel::{Collective, Link, Rank, chunk},
    split::LinearGrads,
};
use canopy_data::Philox;
use lesson10::Lesson10;

use super::on_ranks;

/// Rows of the batch, inputs, hidden numbers, outputs.
pub const SHAPE: [usize; 4] = [64, 96, 384, 96];

/// The layers, a batch, and the gradient of the outputs.
pub struct Layers {
    x: Tensor,
    grad: Tensor,
    weights: [Tensor; 2],
    biases: [Tensor; 2],
}

/// What a rank computed and sent.
pub struct Part {
    pub output: Tensor,
    pub grad_x: Tensor,
    /// Gradients of this rank's rows of the first weight.
    pub grad_weight: Tensor,
    /// Numbers of its parameters.
    pub parameters: usize,
    /// Sent in the forward pass, and in the backward pass.
    pub sent: [u64; 2],
}

impl Layers {
    pub fn drawn(seed: u64) -> Result<Self> {
        let [rows, inputs, hidden, outputs] = SHAPE;
        let mut random = Philox::new(seed, 10);
        let mut of = |shape: &[usize]| -> Result<Tensor> {
            let scale = 1.0 / (shape[shape.len() - 1] as f64).sqrt();
            let count = shape.iter().product();
            let numbers: Vec<f32> = (0..count).map(|_| (random.normal() * scale) as f32).collect();
            Ok(Tensor::from_vec(numbers, shape, &Device::Cpu)?)
        };
        Ok(Self {
            x: of(&[rows, inputs])?,
            grad: of(&[rows, outputs])?,
            weights: [of(&[hidden, inputs])?, of(&[outputs, hidden])?],
            biases: [of(&[hidden])?, of(&[outputs])?],
        })
    }

    /// On `world` ranks with the student's functions.
    pub fn split(&self, answer: &Lesson10, world: usize) -> Result<Vec<Part>> {
        on_ranks(world, |rank| self.part(answer, rank, world))
    }

    fn part(&self, answer: &Lesson10, rank: &Rank, world: usize) -> Result<Part> {
        let own = chunk(SHAPE[2], rank.rank(), world);
        let first = self.weights[0].narrow(0, own.start, own.len())?;
        let bias = self.biases[0].narrow(0, own.start, own.len())?;
        let second = self.weights[1].narrow(1, own.start, own.len())?.contiguous()?;
        let before = (answer.column_parallel)(&self.x, &first, &bias)?;
        let hidden = before.relu()?;
        let output = (answer.row_parallel)(rank, &hidden, &second, &self.biases[1])?;
        let forward = rank.traffic().bytes / 4;
        let of_second: LinearGrads = (answer.row_parallel_backward)(&hidden, &second, &self.grad)?;
        let mask = before.gt(0f32)?.to_dtype(DType::F32)?;
        let of_first = (answer.column_parallel_backward)(rank, &self.x, &first, &(of_second.x * mask)?)?;
        Ok(Part {
            output,
            grad_x: of_first.x,
            grad_weight: of_first.weight,
            parameters: first.elem_count()
                + bias.elem_count()
                + second.elem_count()
                + self.biases[1].elem_count(),
            sent: [forward, rank.traffic().bytes / 4 - forward],
        })
    }
}

/// The largest difference of outputs and gradients of all parts from those of one rank.
pub fn difference(parts: &[Part], one: &Part) -> Result<f64> {
    let mut worst = 0.0_f64;
    let mut compare = |a: &Tensor, b: &Tensor| -> Result<()> {
        let largest = (a - b)?.abs()?.flatten_all()?.max(0)?.to_scalar::<f32>()?;
        worst = worst.max(f64::from(largest));
        Ok(())
    };
    for part in parts {
        compare(&part.output, &one.output)?;
        compare(&part.grad_x, &one.grad_x)?;
    }
    let weights: Vec<&Tensor> = parts.iter().map(|part| &part.grad_weight).collect();
    compare(&Tensor::cat(&weights, 0)?, &one.grad_weight)?;
    Ok(worst)
}

/// What a ring all-reduce of `numbers` sends on each of `world` ranks, as a mean.
pub fn ring(numbers: usize, world: usize) -> f64 {
    2.0 * (world - 1) as f64 / world as f64 * numbers as f64
}

/// Numbers that a rank sent as a mean over the ranks.
pub fn mean_sent(parts: &[Part], pass: usize) -> f64 {
    parts.iter().map(|part| part.sent[pass] as f64).sum::<f64>() / parts.len() as f64
}
