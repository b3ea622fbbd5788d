//! A model split over ranks: tensor parallelism (the numbers of a layer over ranks), pipeline parallelism (the layers over
//! ranks), and the choice between these, data parallelism and sharding.
//!
//! Tensor parallelism is that of Shoeybi et al. 2019 ("Megatron-LM", section 3). The schedules are those of Huang et al. 2019
//! ("GPipe") and of Narayanan et al. 2021 ("Efficient Large-Scale Language Model Training on GPU Clusters Using
//! Megatron-LM", section 2.2). The experiment of lesson 10 runs them; `canopy train` does not.

mod column;
mod order;
mod planner;
mod row;

use anyhow::Result;
use candle_core::{DType, Device, Tensor};

use crate::parallel::Collective;

pub use column::{column_parallel, column_parallel_backward};
pub use order::{Action, activations_held, bubble, gpipe_order, one_f_one_b_order};
pub use planner::{Choice, Machine, Work, candidate, choose};
pub use row::{row_parallel, row_parallel_backward};

// ANCHOR: LinearGrads
/// The gradients of a linear layer y = x·Wᵀ + b, or of one rank's part of it.
#[derive(Clone, Debug)]
pub struct LinearGrads {
    /// The gradient of the input, in its shape.
    pub x: Tensor,
    /// The gradient of the weight, in its shape.
    pub weight: Tensor,
    /// The gradient of the bias, in its shape.
    pub bias: Tensor,
}
// ANCHOR_END: LinearGrads

/// Returns the sum of `tensor` over all ranks, by one all-reduce in f32. The sum has the shape and the dtype of `tensor`, and
/// is bit-identical on every rank.
///
/// # Errors
/// Returns an error if the all-reduce fails or candle does.
pub fn sum_over_ranks(collective: &dyn Collective, tensor: &Tensor) -> Result<Tensor> {
    let mut numbers = tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?;
    collective.all_reduce(&mut numbers)?;
    let sum = Tensor::from_vec(numbers, tensor.shape(), &Device::Cpu)?;
    Ok(sum.to_dtype(tensor.dtype())?.to_device(tensor.device())?)
}
