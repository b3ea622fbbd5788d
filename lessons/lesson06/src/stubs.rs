//! Lesson 06: mixed precision. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson06` checks the lesson, `cargo test -p lesson06 6.2` one exercise. `cargo course hint 6.2` shows a
//! hint.

use candle_core::{DType, Result, Tensor, Var};
use canopy::precision::{
    Backward, BytesPerParameter, Casting, DynamicScaler, Format, Operator, Overflow, Product, TensorCores,
};

/// The number of `format` that is nearest to `x`, any f32; of two equally near ones, the even one (last bit 0).
///
/// Numbers are 2^(e − `format.mantissa`) apart where 2^e ≤ |x| < 2^(e+1), and below 2^`format.least_exponent()` as
/// far apart as just above it. If the rounded |x| exceeds `format.max`, or `x` is infinite, `format.overflow` defines
/// the result, with the sign of `x`. Zeros have its sign, too, and NaN stays NaN.
pub fn round_to(x: f32, format: Format) -> f32 {
    todo!("6.1: find the spacing at x, round to a multiple of it, check for overflow")
}

/// How autocast casts the inputs of `operator`.
///
/// - `Casting::Low`: products (`Linear`, `Matmul`, `Convolution`).
/// - `Casting::Full`: long sums (`Sum`, `Mean`, `Norm`); functions whose result may be far larger or smaller than
///   their input (`Exp`, `Log`, `Power`); and operators made of these (`Softmax`, `CrossEntropy`, `MeanSquaredError`,
///   `BatchNorm`, `LayerNorm`).
/// - `Casting::Widest`: operators on several tensors, none of which may lose bits (`Add`, `Concatenate`).
/// - `Casting::AsIs`: operators that return their inputs, or nearly (`Relu`, `Max`, `Dropout`, `Reshape`).
pub fn autocast(operator: Operator) -> Casting {
    todo!("6.2: a match over the operators")
}

/// The gradients of `loss` × `scale`, divided by `scale`, and whether any is infinite or NaN.
///
/// Call `backward` once, with `loss` times `scale`. Convert each gradient to f32 before you divide it, and return all,
/// also infinite ones and NaN. Large finite numbers are no overflow, whatever their sum. There may be no gradients. If
/// `backward` fails, return its error.
pub fn scaled_gradients(loss: &Tensor, scale: f64, backward: Backward) -> Result<(Vec<Tensor>, bool)> {
    todo!("6.3: scale, run backward, convert and divide, check")
}

/// Updates the loss scale by PyTorch's rule, in f32 or f64. `found_inf`: the gradients overflowed.
///
/// An overflow multiplies the scale by `state.backoff`, with no lower limit, and resets `state.good` to 0. A good step
/// is counted in `state.good`; at `state.interval`, the scale is multiplied by `state.growth`, unless that is above
/// `f32::MAX`, and the count restarts at 0 either way.
pub fn update_scale(state: &mut DynamicScaler, found_inf: bool) {
    todo!("6.4: two cases, and a count")
}

/// One step for low-precision `weights`, whose fp32 copies are `masters`.
///
/// Call `step` once, with all gradients in fp32, otherwise unchanged: it changes the masters, which keep all their
/// bits. Then set each weight to `low(master)`, whatever its gradient is. If `step` fails, return its error and change
/// no weight. If `low` fails, return its error.
pub fn master_step(
    masters: &[Var],
    weights: &[Var],
    grads: &[Tensor],
    step: &mut dyn FnMut(&[Tensor]) -> Result<()>,
    low: &dyn Fn(&Tensor) -> Result<Tensor>,
) -> Result<()> {
    todo!("6.5: convert, step, round")
}

/// The bytes of one parameter in training, with weight and gradient in `format`, and `moments` numbers in fp32 that the
/// optimizer keeps.
///
/// By `format.bits()`, fp32 and tf32 take 4 bytes, 16-bit formats 2, and 8-bit formats 1. Weights of fewer than 4 bytes
/// have a `master` of 4 bytes, others none (0).
pub fn bytes_per_parameter(format: Format, moments: u32) -> BytesPerParameter {
    todo!("6.6: weight, gradient, master, optimizer")
}

/// The factor for a tensor that is rounded to `format`; `amax` is its greatest absolute value.
///
/// It is the largest power of two for which `amax` times the factor is at most `format.max`. Its exponent is then
/// reduced by `margin`, and last clamped to −126 … 127. The factor is 1 if `amax` is 0, infinite or NaN, whatever the
/// margin.
pub fn scale_for(amax: f32, format: Format, margin: u32) -> f32 {
    todo!("6.7: format.max / amax, rounded down to a power of two")
}

/// How well tensor cores support `product`, [m, k] × [k, n], in `format`.
///
/// `served`: every format except fp32 is. `padded`: each side rounded up to a multiple of 16 bytes, which are 16
/// numbers of 8 bits, 8 of 16 bits, and 4 in wider formats, also fp32. `worth`: every side, before padding, is at least
/// 128.
pub fn tensor_cores(product: Product, format: Format) -> TensorCores {
    todo!("6.8: which multiple, for three sides")
}
