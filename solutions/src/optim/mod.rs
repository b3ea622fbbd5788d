//! Optimizers and gradient clipping, number for number as PyTorch's.
//!
//! On the CPU in f32 the steps and the norm are `kernels::multi_tensor`'s; elsewhere candle's operators serve.
//! An optimizer holds the variables it changes; gradients come as a slice in the order of the variables.

mod accumulate;
mod adam;
mod adaptive;
mod clip;
mod config;
mod landscape;
mod layerwise;
mod lbfgs;
mod sgd;
mod state;

use std::collections::HashMap;

use anyhow::Result;
use candle_core::Tensor;

pub use accumulate::accumulated;
pub use adam::{Adam, AdamConfig, AdamState, AdamWConfig, adam_step};
pub use adaptive::{AdadeltaConfig, AdagradConfig, Adaptive, RmspropConfig};
pub use clip::clip_grad_norm;
pub use config::OptimConfig;
pub use landscape::{loss_along, random_directions};
pub use layerwise::{Lamb, LambConfig, Lars, LarsConfig, lamb_step, lars_step, trust_ratio};
pub use lbfgs::{Lbfgs, LbfgsConfig};
pub use sgd::{Sgd, SgdConfig, momentum_step, sgd_step};

/// Changes parameters by their gradients.
pub trait Optimizer: Send {
    /// One step. `grads` are in the order of the parameters, `lr` is the learning rate of this step.
    ///
    /// # Errors
    /// Gradients that do not fit the parameters, with the parameter's name; candle's.
    fn step(&mut self, grads: &[Tensor], lr: f64) -> Result<()>;

    /// A copy of all it remembers, by name: `step` (i64), and for each parameter NAME of moments
    /// `exp_avg.NAME`, `exp_avg_sq.NAME` or `momentum_buffer.NAME`. Loading it goes on with the same bits.
    ///
    /// # Errors
    /// candle's.
    fn state(&self) -> Result<Vec<(String, Tensor)>>;

    /// Takes up what [`Self::state`] gave.
    ///
    /// # Errors
    /// A tensor missing, unknown, or of another shape or number type; the optimizer is then as it was.
    fn load_state(&mut self, state: &HashMap<String, Tensor>) -> Result<()>;
}
