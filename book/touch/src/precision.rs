//! canopy's number formats, and its bytes per parameter.
#![allow(dead_code, reason = "the pieces use a part of canopy's functions")]

#[path = "../../../solutions/src/precision/bytes.rs"]
mod bytes;
#[path = "../../../solutions/src/precision/format.rs"]
mod format;

pub use bytes::{BytesPerParameter, bytes_per_parameter};
pub use format::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, TF32, round_to};
