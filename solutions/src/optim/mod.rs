//! Optimizers and gradient clipping, numerically as in PyTorch.
//!
//! Each optimizer is a plain function over parameters, gradients and state (`sgd_step`, `adam_step`, `lamb_step`, …), and
//! [`OptimConfig::build`] wraps it for the trainer. On the CPU in f32 the functions use the fused kernels of
//! `kernels::multi_tensor`, elsewhere candle's operators.

mod accumulate;
mod adam;
mod adaptive;
mod clip;
mod config;
mod landscape;
mod layerwise;
mod lbfgs;
mod optimizer;
mod sgd;
mod state;

pub use accumulate::accumulated;
pub use adam::{AdamConfig, AdamState, AdamWConfig, adam_step};
pub use adaptive::{AdadeltaConfig, AdagradConfig, RmspropConfig};
pub use clip::clip_grad_norm;
pub use config::OptimConfig;
pub use landscape::{loss_along, random_directions};
pub use layerwise::{LambConfig, LarsConfig, lamb_step, lars_step, trust_ratio};
pub use lbfgs::LbfgsConfig;
pub use optimizer::Optimizer;
pub use sgd::{SgdConfig, momentum_step, sgd_step};
