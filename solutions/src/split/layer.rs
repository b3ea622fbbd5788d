//! A layer, or one rank's part of it: linear, batch norm, ReLU, and for the last layer over points their maximum.

use anyhow::Result;
use candle_core::{DType, Device, Tensor, Var};
use canopy_data::Purpose;

use super::{
    Groups, LayerShape, LinearGrads, Position, Split, column_parallel, column_parallel_backward,
    maximum::{Winners, max_over_points, max_over_points_backward},
    mesh::Mesh,
    norm::{Norm, Normalised},
    row_parallel, row_parallel_backward,
};

/// One rank's part of a layer.
pub struct Layer {
    /// The shape of the whole layer.
    pub shape: LayerShape,
    weight: Var,
    rest: Rest,
}

/// What follows the product.
enum Rest {
    Norm(Norm),
    Bias(Var),
}

/// What the forward pass of a micro-batch keeps for the backward pass.
pub struct Kept {
    x: Tensor,
    normalised: Option<Normalised>,
    winners: Option<Winners>,
}

impl Kept {
    /// Bytes of the tensors. The input counts here, and not as the output of the layer before.
    pub fn bytes(&self) -> u64 {
        let norm = self.normalised.iter().flat_map(Normalised::tensors);
        let all = [&self.x].into_iter().chain(norm);
        let all = all.chain(self.winners.iter().flat_map(Winners::tensors));
        all.map(|t| (t.elem_count() * t.dtype().size_in_bytes()) as u64)
            .sum()
    }
}

/// The rows of a micro-batch on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Clouds of the micro-batch.
    pub clouds: usize,
    /// Points of each cloud on this rank.
    pub points: usize,
    /// Points of each cloud on all ranks.
    pub all_points: usize,
}

impl Layer {
    /// Creates the part of a layer that belongs to `position`. The values are those of the whole layer, whatever the mesh.
    ///
    /// # Errors
    /// Returns an error if candle fails.
    pub fn new(shape: LayerShape, mesh: &Mesh, position: Position, seed: u64) -> Result<Self> {
        let inputs = shape.own_inputs(position.tensor, mesh.tensor);
        let outputs = shape.own_outputs(position.tensor, mesh.tensor);
        let bound = 1.0 / (shape.inputs as f64).sqrt();
        let mut weight: Vec<f32> = Vec::with_capacity(inputs.len() * outputs.len());
        for output in outputs.clone() {
            // A stream for each row, so that a rank draws no other rank's rows.
            let mut random = Purpose::Init.stream(seed, (shape.index as u64) << 32 | output as u64);
            let row: Vec<f32> = (0..shape.inputs)
                .map(|_| random.range(-bound, bound) as f32)
                .collect();
            weight.extend(&row[inputs.clone()]);
        }
        let size = (outputs.len(), inputs.len());
        let weight = Var::from_tensor(&Tensor::from_vec(weight, size, &Device::Cpu)?)?;
        let zeros = Var::zeros(outputs.len(), DType::F32, &Device::Cpu)?;
        let rest = if shape.is_last {
            Rest::Bias(zeros)
        } else {
            let gamma = Var::ones(outputs.len(), DType::F32, &Device::Cpu)?;
            Rest::Norm(Norm { gamma, beta: zeros })
        };
        Ok(Self { shape, weight, rest })
    }

    /// Its parameters.
    pub fn params(&self) -> Vec<Var> {
        match &self.rest {
            Rest::Norm(norm) => vec![self.weight.clone(), norm.gamma.clone(), norm.beta.clone()],
            Rest::Bias(bias) => vec![self.weight.clone(), bias.clone()],
        }
    }

    /// Batch norm's rows on all ranks.
    fn total(&self, rows: Rows) -> usize {
        self.shape.rows(rows.clouds, rows.all_points)
    }

    /// Batch norm subtracts a bias again, so only the last layer has one.
    fn bias(&self) -> Result<Tensor> {
        Ok(match &self.rest {
            Rest::Bias(bias) => bias.as_detached_tensor(),
            Rest::Norm(norm) => norm.beta.as_detached_tensor().zeros_like()?,
        })
    }

    /// Returns this rank's part of the output, and what the backward pass needs.
    ///
    /// # Errors
    /// Returns an error if candle or another rank fails.
    pub fn forward(&self, x: Tensor, rows: Rows, groups: &Groups) -> Result<(Tensor, Kept)> {
        let (weight, bias) = (self.weight.as_detached_tensor(), self.bias()?);
        let mut y = match self.shape.split {
            Split::Rows if groups.tensor_ranks() > 1 => row_parallel(&groups.tensor, &x, &weight, &bias)?,
            _ => column_parallel(&x, &weight, &bias)?,
        };
        let (mut normalised, mut winners) = (None, None);
        if let Rest::Norm(norm) = &self.rest {
            let ranks = groups.of_rows(self.shape.over_points);
            let (output, kept) = norm.forward(&y, self.total(rows), ranks)?;
            (y, normalised) = (output, Some(kept));
        }
        if self.shape.is_before_max {
            let (output, kept) = max_over_points(&y, rows.points, &groups.sequence)?;
            (y, winners) = (output, Some(kept));
        }
        let kept = Kept {
            x,
            normalised,
            winners,
        };
        Ok((y, kept))
    }

    /// Returns the gradient of the input and of the parameters, from this rank's part of the output's.
    ///
    /// # Errors
    /// As [`Self::forward`].
    pub fn backward(
        &self,
        kept: &Kept,
        grad: Tensor,
        rows: Rows,
        groups: &Groups,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        let mut grad = grad;
        if let Some(winners) = &kept.winners {
            grad = max_over_points_backward(winners, &grad)?;
        }
        let mut of_norm = None;
        if let (Rest::Norm(norm), Some(normalised)) = (&self.rest, &kept.normalised) {
            let ranks = groups.of_rows(self.shape.over_points);
            let grads = norm.backward(normalised, &grad, self.total(rows), ranks)?;
            of_norm = Some([grads.gamma, grads.beta]);
            grad = grads.x;
        }
        let weight = self.weight.as_detached_tensor();
        let LinearGrads { x, weight, bias } = match self.shape.split {
            // Nobody needs the gradient of the points.
            Split::Columns if groups.tensor_ranks() > 1 && self.shape.index > 0 => {
                column_parallel_backward(&groups.tensor, &kept.x, &weight, &grad)?
            }
            _ => row_parallel_backward(&kept.x, &weight, &grad)?,
        };
        let grads = match of_norm {
            Some([gamma, beta]) => vec![weight, gamma, beta],
            None => vec![weight, bias],
        };
        Ok((x, grads))
    }
}
