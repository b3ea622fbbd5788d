//! The trainings that are compared.

use canopy::precision::{BF16, Casting, FP8_E4M3, FP16, Format, TF32};

/// How the loss is scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    Off,
    /// By exercise 6.4, from 2^16, ×2 after 50 good steps; the loss itself is multiplied by 2 to this power.
    Dynamic(i32),
    /// Always by 2 to this power.
    Power(i32),
}

/// The dtype of the weights between steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weights {
    Full,
    Bf16,
    Bf16WithMasters,
}

/// One training.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub name: &'static str,
    /// None: fp32.
    pub format: Option<Format>,
    pub scaling: Scaling,
    pub weights: Weights,
    /// Instead of exercise 6.2.
    pub policy: Option<fn(canopy::precision::Operator) -> Casting>,
    /// Whether fp8 tensors are scaled by exercise 6.7.
    pub scales: bool,
}

const fn way(name: &'static str, format: Option<Format>) -> Way {
    Way {
        name,
        format,
        scaling: Scaling::Off,
        weights: Weights::Full,
        policy: None,
        scales: true,
    }
}

/// The table's rows.
pub const WAYS: [Way; 10] = [
    way("fp32", None),
    way("tf32", Some(TF32)),
    way("bf16", Some(BF16)),
    way("fp16", Some(FP16)),
    Way {
        scaling: Scaling::Dynamic(0),
        ..way("fp16, dynamic scale", Some(FP16))
    },
    Way {
        scaling: Scaling::Dynamic(0),
        policy: Some(|_| Casting::Low),
        ..way("fp16, all operators", Some(FP16))
    },
    way("fp8, scaled tensors", Some(FP8_E4M3)),
    Way {
        scales: false,
        ..way("fp8, no scales", Some(FP8_E4M3))
    },
    Way {
        weights: Weights::Bf16WithMasters,
        ..way("bf16, fp32 masters", Some(BF16))
    },
    Way {
        weights: Weights::Bf16,
        ..way("bf16 weights alone", Some(BF16))
    },
];

/// The loss scales of the second part, as powers of two.
pub const POWERS: [i32; 7] = [-24, -16, -8, 0, 8, 16, 24];

/// Those of bf16: scaling by a power of two changes no bit of its mantissa.
pub const FEW: [i32; 3] = [-24, 0, 24];

/// A training of the second part, whose loss is multiplied by 2 to the power.
pub fn scaled(format: Format, power: i32, dynamic: bool) -> Way {
    let scaling = if dynamic { Scaling::Dynamic } else { Scaling::Power };
    Way {
        scaling: scaling(power),
        ..way("", Some(format))
    }
}
