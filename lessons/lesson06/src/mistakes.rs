//! Known wrong answers, each with the check that must catch it and the cause that a student reads.

#![allow(
    clippy::unwrap_used,
    reason = "students unwrap, and the panic must be the same"
)]

use candle_core::{DType, Result, Tensor};
use canopy::precision::{BytesPerParameter, Casting, Format, Operator, Product, TensorCores};
use grader::{Mistake, wrong};

use crate::{Lesson06, REFERENCE, answer_helpers::*};

/// One casting for one operator, the others as they should be.
fn cast(operator: Operator, which: Operator, to: Casting) -> Casting {
    if operator == which {
        to
    } else {
        (REFERENCE.autocast)(operator)
    }
}

/// 2 to the power of what `e` makes of max/amax, for amax of an ordinary size.
fn power(amax: f32, max: f64, e: impl Fn(f64) -> f64) -> f32 {
    if amax == 0.0 || !amax.is_finite() {
        return 1.0;
    }
    2f64.powf(e(max / f64::from(amax)).clamp(-126.0, 127.0)) as f32
}

mod autocast;
mod bytes_per_parameter;
mod master_step;
mod round_to;
mod scale_for;
mod scaled_gradients;
mod tensor_cores;
mod update_scale;

pub const MISTAKES: &[&[Mistake<Lesson06>]] = &[
    round_to::MISTAKES,
    autocast::TABLE,
    autocast::MISTAKES,
    scaled_gradients::MISTAKES,
    update_scale::MISTAKES,
    master_step::MISTAKES,
    bytes_per_parameter::MISTAKES,
    scale_for::MISTAKES,
    tensor_cores::MISTAKES,
];
