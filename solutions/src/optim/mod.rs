//! Optimizers and gradient clipping. Those that PyTorch has compute the same numbers as PyTorch, up to rounding.
//!
//! Most optimizers are plain functions over parameters, gradients and state (`sgd_step`, `adam_step`, `lamb_step`, …).
//! [`OptimConfig::build`] wraps them for the trainer. On the CPU in f32, SGD with momentum, Adam, LAMB and the clipping
//! use the fused kernels of `kernels::multi_tensor`, and on a GPU their CUDA forms. With other dtypes, they use candle's
//! operators.

mod accumulate;
mod adam;
mod clip;
mod config;
mod landscape;
mod layerwise;
mod optimizer;
mod sgd;
mod state;

pub use accumulate::accumulated;
pub use adam::{AdamConfig, AdamState, adam_step};
pub use clip::{clip_by_norm, clip_grad_norm, sum_of_squares};
pub use config::{Eps, OptimConfig};
pub use landscape::loss_along;
pub use layerwise::{LambConfig, LarsConfig, lamb_step, lars_step, trust_ratio};
pub use optimizer::Optimizer;
pub use sgd::{SgdConfig, momentum_step, sgd_step};
