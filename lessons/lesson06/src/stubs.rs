//! Lesson 06: mixed precision. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson06` checks the lesson, `cargo test -p lesson06 6.2` one exercise. `cargo course hint 6.2` shows
//! a hint.

use candle_core::{DType, Result, Tensor, Var};
use canopy::precision::{
    Backward, BytesPerParameter, Casting, DynamicScaler, Format, Operator, Overflow, Product, TensorCores,
};

/// `x`, rounded to the nearest number of `format`, ties to even.
///
/// The spacing at `x` is 2^(e − `format.mantissa`), where e is ⌊log₂|x|⌋, but at least `format.least_exponent()`. A
/// rounded |x| above `format.max`, or an infinite `x`, becomes `format.overflow` with the sign of `x`. NaN stays, and
/// so does the sign of 0.
pub fn round_to(x: f32, format: Format) -> f32 {
    todo!("6.1: find the spacing at x, round to a multiple of it, check for overflow")
}

/// How autocast casts the inputs of `operator`:
///
/// - `Casting::Low`: products (`Linear`, `Matmul`, `Convolution`).
/// - `Casting::Full`: long sums (`Sum`, `Mean`, `Norm`), functions with a far larger range (`Exp`, `Log`, `Power`), and
///   operators made of these (`Softmax`, `CrossEntropy`, `MeanSquaredError`, `BatchNorm`, `LayerNorm`).
/// - `Casting::Widest`: `Add`, `Concatenate`.
/// - `Casting::AsIs`: `Relu`, `Max`, `Dropout`, `Reshape`.
pub fn autocast(operator: Operator) -> Casting {
    todo!("6.2: a match over the operators")
}

/// All gradients of `loss`, and whether any is infinite or NaN.
///
/// Call `backward` once, with `loss` times `scale`. Convert each gradient to f32, then divide it by `scale`.
pub fn scaled_gradients(loss: &Tensor, scale: f64, backward: Backward) -> Result<(Vec<Tensor>, bool)> {
    todo!("6.3: scale, run backward, convert and divide, check")
}

/// Updates `state` after a step. An overflow (`found_inf`) multiplies the scale by `backoff`; `interval` good steps
/// multiply it by `growth`, unless the product exceeds `f32::MAX`. Both reset `good` to 0.
pub fn update_scale(state: &mut DynamicScaler, found_inf: bool) {
    todo!("6.4: two cases, and a count")
}

/// One optimizer step of low-precision `weights` with fp32 `masters`.
///
/// Call `step` once, with all gradients in fp32: only `step` changes the masters. Unless it fails, set each weight to
/// `low(master)`.
pub fn master_step(
    masters: &[Var],
    weights: &[Var],
    grads: &[Tensor],
    step: &mut dyn FnMut(&[Tensor]) -> Result<()>,
    low: &dyn Fn(&Tensor) -> Result<Tensor>,
) -> Result<()> {
    todo!("6.5: convert, step, round")
}

/// Weight and gradient take 4 bytes each in fp32 and tf32, 2 in 16-bit and 1 in 8-bit formats, which have an fp32
/// master. The optimizer keeps `moments` numbers in fp32.
pub fn bytes_per_parameter(format: Format, moments: u32) -> BytesPerParameter {
    todo!("6.6: weight, gradient, master, optimizer")
}

/// The largest power of two that scales `amax` to at most `format.max`, its exponent reduced by `margin`, then clamped
/// to −126 … 127; 1 if `amax` is 0, infinite or NaN.
pub fn scale_for(amax: f32, format: Format, margin: u32) -> f32 {
    todo!("6.7: format.max / amax, rounded down to a power of two")
}

/// How well tensor cores support `product`. In `padded`, 16 bytes are 16 numbers of 8 bits, 8 of 16 bits, or 4 of any
/// longer format. `worth` ignores the padding.
pub fn tensor_cores(product: Product, format: Format) -> TensorCores {
    todo!("6.8: which multiple, for three sides")
}
