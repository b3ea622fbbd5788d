//! Operators over `[rows, channels]` matrices: the fused forms, and beside each its plain candle
//! composition, which is its specification.
//!
//! A row is a point, so a batch of clouds is `[clouds × points, channels]`. `Pass` says which form runs.
//! The fused form runs in f32 on the CPU; elsewhere, and under `plain`, candle's operators serve, on
//! candle's graph. `backward` walks either.
//!
//! A tensor that a fused operator of a training pass gave is followed by this module only: between two of
//! them an operator of candle's would cut the walk, and `backward` says so.

mod custom_op;
mod dropout;
mod instruction_set;
mod linear;
mod linear_bn;
mod loss;
mod lowering;
mod masked;
mod matmul;
pub mod multi_tensor;
mod neuron;
mod parallel;
mod plain;
mod pool;
mod ranks;
mod separate;
mod shared_mlp;
mod tape;
mod tile;
mod transform;
mod values;
mod vector;

use std::sync::Arc;

use candle_core::{Result, Tensor, Var};

pub use dropout::dropout;
pub use instruction_set::InstructionSet;
pub use linear::linear;
pub use linear_bn::linear_bn;
pub use loss::{cross_entropy, weighted_sum};
pub use lowering::{Lowering, Operator};
pub use masked::{masked_batch_norm, masked_layer, masked_max};
pub use neuron::neuron;
pub use plain::{max_points, shared_layer};
pub use pool::release_buffers;
pub use ranks::{Share, SumOverRanks};
pub use separate::each;
pub use shared_mlp::{MlpLayer, shared_mlp, shared_mlp_max};
pub use tape::{Gradients, backward, backward_with};
pub use transform::{add_identity, orthogonality, transform};

/// How one pass over the network runs. A clone is the same pass.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Training: batch statistics and dropout. Otherwise running statistics and no dropout.
    pub train: bool,
    /// The plain candle composition instead of the fused operators.
    pub plain: bool,
    /// Seeds dropout together with `step` and the layer.
    pub seed: u64,
    /// The optimizer step this pass belongs to.
    pub step: u64,
    on_graph: bool,
    tape: Option<tape::Tape>,
    lowering: Option<Arc<dyn Lowering>>,
    share: Option<ranks::Share>,
}

impl Pass {
    /// A training pass, the `step`-th.
    pub fn train(seed: u64, step: u64) -> Self {
        Self {
            train: true,
            plain: false,
            seed,
            step,
            on_graph: false,
            tape: Some(tape::Tape::default()),
            lowering: None,
            share: None,
        }
    }

    /// A pass with running statistics, no dropout and no gradients.
    pub fn eval() -> Self {
        Self {
            train: false,
            plain: false,
            seed: 0,
            step: 0,
            on_graph: false,
            tape: None,
            lowering: None,
            share: None,
        }
    }

    /// The same pass with or without the fused operators.
    #[must_use]
    pub fn plain(mut self, plain: bool) -> Self {
        self.plain = plain;
        self
    }

    /// The same pass over one rank's share of the batch's clouds: it draws their dropout, not that of the first clouds, and
    /// batch norm may be synchronised.
    #[must_use]
    pub fn shared(mut self, share: Share) -> Self {
        self.share = Some(share);
        self
    }

    /// Whether batch norm sees the clouds of all ranks.
    pub fn synchronised(&self) -> bool {
        self.sums().is_some()
    }

    fn sums(&self) -> Option<&std::sync::Arc<dyn SumOverRanks>> {
        self.share.as_ref().filter(|_| self.train)?.sums.as_ref()
    }

    /// The same pass with its fused operators on candle's graph, as `CustomOp`s, instead of the tape: slower,
    /// for who mixes them with candle's own operators. candle's walk serves it.
    #[must_use]
    pub fn on_candle_graph(mut self) -> Self {
        self.on_graph = true;
        self
    }

    /// An operator's output as a tensor, its backward pass kept where this pass keeps them.
    fn record(
        &self,
        inputs: &[&Tensor],
        output: Vec<f32>,
        shape: &[usize],
        backward: impl FnOnce() -> tape::Backward,
    ) -> Result<Tensor> {
        if self.train && (self.on_graph || self.plain) {
            return custom_op::on_graph(inputs, output, shape, backward());
        }
        let tape = self.tape.as_ref().filter(|_| self.train);
        tape::record(tape, inputs, output, shape, backward)
    }
}

/// Batch normalisation over rows (Ioffe and Szegedy 2015), as PyTorch's `BatchNorm1d`: biased variance
/// to normalise, unbiased for the running estimate.
#[derive(Clone, Debug)]
pub struct BatchNorm {
    /// Scale, `[channels]`; starts at 1.
    pub gamma: Var,
    /// Shift, `[channels]`; starts at 0.
    pub beta: Var,
    /// Running mean, `[channels]`: a buffer, not a parameter.
    pub mean: Var,
    /// Running variance, `[channels]`: a buffer, not a parameter.
    pub var: Var,
    /// Share of the new batch in the running statistics; PyTorch's 0.1.
    pub momentum: f64,
    /// Added to the variance; PyTorch's 1e-5.
    pub eps: f64,
}

impl BatchNorm {
    /// Weight and bias of the linear layer that `x·wᵀ` and this batch norm with its running statistics are together:
    /// `w` `[out, in]` → `[out, in]` and `[out]`.
    ///
    /// # Errors
    /// Shapes that do not fit.
    pub fn folded(&self, w: &Tensor) -> Result<(Tensor, Tensor)> {
        let scale = (self.gamma.as_tensor() / (self.var.as_detached_tensor() + self.eps)?.sqrt()?)?;
        let shift = (self.beta.as_tensor() - (self.mean.as_detached_tensor() * &scale)?)?;
        Ok((w.broadcast_mul(&scale.unsqueeze(1)?)?, shift))
    }
}

/// The greatest value of `linear_bn` over the points of each cloud, without storing what it is taken from.
/// x `[clouds × points, in]`, w `[out, in]` → `[clouds, out]`; of equal points the first takes the gradient.
///
/// # Errors
/// Shapes that do not fit, with what was expected.
pub fn linear_bn_max(
    x: &Tensor,
    w: &Tensor,
    bn: &BatchNorm,
    relu: bool,
    clouds: usize,
    pass: &Pass,
) -> Result<Tensor> {
    let weight = w;
    shared_mlp_max(x, &[MlpLayer { weight, bn, relu }], clouds, pass)
}
