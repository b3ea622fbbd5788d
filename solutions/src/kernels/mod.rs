//! Operators over `[rows, channels]` matrices: each in a fused form and in a plain candle composition, which is its
//! specification.
//!
//! A row is a point, so a batch of clouds is `[points of all clouds, channels]`; [`Clouds`] says which rows belong to
//! which cloud. [`Pass`] chooses the form. The fused form runs on the CPU in f32, and with the feature `cuda` on a GPU, in
//! f32, bf16 and fp16 ([`device`]). For other dtypes and with `plain`, candle's operators run, on candle's graph.
//! [`backward`] is the backward pass of all.
//!
//! Only this module records the output of a fused operator in training. If one of candle's operators comes between two fused
//! ones, the gradient cannot pass it, and [`backward`] returns an error. [`with_backward`] and [`loss_by_candle`] record a
//! composition of them.
//!
//! Each operator's CUDA form is a `.cu` file beside it. `.ci/cuda` compiles these files for three architectures, and the
//! tests run whole training steps of them on an emulated grid, in each of these dtypes; `tests/gpu` runs them on a GPU.

mod by_candle;
mod clouds;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(any(test, feature = "cuda"))]
mod cuda_source;
pub mod device;
mod dropout;
mod filter;
mod instruction_set;
mod layer;
mod linear;
mod loss;
mod lowering;
mod matmul;
mod matrix;
mod maxima;
mod mlp;
pub mod multi_tensor;
mod neuron;
mod operators;
mod plain;
mod pool;
mod ranks;
mod shared_mlp;
mod steps;
mod tape;
mod tile;
mod transform;
mod values;
mod vector;

use std::sync::Arc;

use candle_core::{Result, Tensor};

pub use by_candle::{loss_by_candle, with_backward};
pub use clouds::{Clouds, without_padding};
pub use dropout::dropout;
pub use filter::{FilterCounts, filter_counts};
pub use instruction_set::{Filter, InstructionSet};
pub use layer::{BatchNorm, MlpLayer};
pub use linear::linear;
pub use loss::{cross_entropy, weighted_sum};
pub use lowering::{Lowering, Operator};
pub use mlp::{shared_mlp, shared_mlp_max};
pub use neuron::neuron;
pub use operators::each;
pub use plain::{max_points, shared_layer};
pub use pool::release_buffers;
pub use ranks::{Share, SumOverRanks};
pub use tape::backward;
pub use transform::{add_identity, orthogonality, transform};

/// How one pass over the network runs. Clones share one tape.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Training uses batch statistics and dropout; evaluation uses running statistics and no dropout.
    pub train: bool,
    /// The plain candle composition instead of the fused operators.
    pub plain: bool,
    /// Seeds dropout together with `step` and the layer.
    pub seed: u64,
    /// The optimizer step this pass belongs to.
    pub step: u64,
    tape: Option<tape::Tape>,
    lowering: Option<Arc<dyn Lowering>>,
    share: Option<ranks::Share>,
    launcher: Option<Arc<dyn device::Launcher>>,
}

impl Pass {
    /// The training pass of optimizer step `step`.
    pub fn train(seed: u64, step: u64) -> Self {
        Self {
            train: true,
            plain: false,
            seed,
            step,
            tape: Some(tape::Tape::default()),
            lowering: None,
            share: None,
            launcher: None,
        }
    }

    /// A pass with running statistics, no dropout and no gradients.
    pub fn eval() -> Self {
        Self {
            train: false,
            tape: None,
            ..Self::train(0, 0)
        }
    }

    /// The same pass with the CUDA kernels, which `launcher` runs. Without it, they run if the tensors are on a GPU.
    #[must_use]
    pub fn with_launcher(mut self, launcher: Arc<dyn device::Launcher>) -> Self {
        self.tape = self.tape.map(|_| tape::Tape::on(launcher.clone()));
        self.launcher = Some(launcher);
        self
    }

    /// The same pass with or without the fused operators.
    #[must_use]
    pub fn plain(mut self, plain: bool) -> Self {
        self.plain = plain;
        self
    }

    /// The same pass over one rank's share of the batch's clouds: dropout masks are those of these clouds in the whole
    /// batch, and batch norm may be synchronised.
    #[must_use]
    pub fn shared(mut self, share: Share) -> Self {
        self.share = Some(share);
        self
    }

    /// Whether batch norm averages over the clouds of all ranks.
    pub fn synchronised(&self) -> bool {
        self.sums().is_some()
    }

    fn sums(&self) -> Option<&Arc<dyn SumOverRanks>> {
        self.share.as_ref().filter(|_| self.train)?.sums.as_ref()
    }

    /// Returns an operator's output as a tensor, and records its backward pass on the tape.
    fn record(
        &self,
        inputs: &[&Tensor],
        output: Vec<f32>,
        shape: &[usize],
        backward: impl FnOnce() -> tape::Backward,
    ) -> Result<Tensor> {
        let tape = self.tape.as_ref().filter(|_| self.train);
        tape::record(tape, inputs, output, shape, backward)
    }
}
