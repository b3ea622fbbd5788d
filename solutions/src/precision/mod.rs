//! Mixed precision: low-precision formats and rounding, autocast, loss scaling, master weights, fp8 scales, tensor cores,
//! and memory per parameter.

mod autocast;
mod bytes;
mod choice;
mod dynamic;
mod emulate;
mod format;
mod fp8;
mod master;
mod scaler;
mod tensor_core;

pub use autocast::{Autocast, Casting, Operator, autocast};
pub use bytes::{BytesPerParameter, bytes_per_parameter};
pub use choice::{LossScaler, LossScaling, Precision};
pub use dynamic::{DynamicScaler, update_scale};
pub use emulate::GradientCensus;
pub use format::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, Overflow, TF32, round_to};
pub use fp8::scale_for;
pub use master::{MasterStep, master_step};
pub use scaler::{Backward, GradScaler, LossScale, ScaledGradients, found_inf, scaled_gradients, unscale};
pub use tensor_core::{Product, TensorCores, tensor_cores};
