//! The trainings that are compared.

use canopy::precision::{BF16, FP8_E4M3, FP16, Format, TF32};

/// How the loss is scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    Off,
    /// By exercise 6.4, from 2^16, ×2 after 50 good steps; the loss itself is multiplied by 2 to this power.
    Dynamic(i32),
    /// Always by 2 to this power.
    Power(i32),
}

/// One training: name, format (none: fp32), loss scale, and whether fp8 tensors are scaled by exercise 6.7.
pub type Way = (&'static str, Option<Format>, Scaling, bool);

/// The rows of the first table.
pub const WAYS: [Way; 7] = [
    ("fp32", None, Scaling::Off, true),
    ("tf32", Some(TF32), Scaling::Off, true),
    ("bf16", Some(BF16), Scaling::Off, true),
    ("fp16", Some(FP16), Scaling::Off, true),
    ("fp16, dynamic scale", Some(FP16), Scaling::Dynamic(0), true),
    ("fp8, scaled tensors", Some(FP8_E4M3), Scaling::Off, true),
    ("fp8, no scales", Some(FP8_E4M3), Scaling::Off, false),
];

/// The columns of the second table: powers of two that multiply the loss.
pub const POWERS: [i32; 7] = [-24, -16, -8, 0, 8, 16, 24];

/// Trainings of that table: name, format, and how the loss is scaled.
pub type Scaled = (&'static str, Format, fn(i32) -> Scaling);

/// Its rows.
pub const SCALED: [Scaled; 3] = [
    ("fp16", FP16, Scaling::Power),
    ("dynamic", FP16, Scaling::Dynamic),
    ("bf16", BF16, Scaling::Power),
];
