//! Numbers of fewer bits: how they round, which operators bear them, how gradients are kept within their range, and
//! what they save.

mod autocast;
mod bytes;
mod deepspeed;
mod format;
mod fp8;
mod scaler;
mod tensor_core;

pub use autocast::{Casting, Operator, autocast};
pub use bytes::{BytesPerParameter, bytes_per_parameter};
pub use deepspeed::DeepSpeedScaler;
pub use format::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, Overflow, TF32, round_to};
pub use fp8::{DelayedScale, scale_for};
pub use scaler::{DynamicScaler, GradScaler, LossScale, found_inf, unscale};
pub use tensor_core::{Product, eligibility};
