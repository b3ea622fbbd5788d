//! Lesson 06: mixed precision. Replace each `todo!`; the comment above a function says what it must do.
//!
//! `cargo test -p lesson06` checks the lesson, `cargo test -p lesson06 6.2` one exercise. `cargo course hint 6.2` shows a
//! hint.

use candle_core::{DType, Result, Tensor, Var};
use canopy::precision::{
    Backward, BytesPerParameter, Casting, DynamicScaler, Format, Operator, Overflow, Product, TensorCores,
};

/// The number of `format` that is nearest to `x`; of two equally near ones, the even one (whose last mantissa bit
/// is 0).
///
/// Numbers of the format are 2^(e − m) apart, where m is `format.mantissa` and e is the exponent of `x`: 2^e ≤ |x|
/// < 2^(e+1). Below 2^`format.least_exponent()` the spacing stays as it is just above (the subnormal numbers, and
/// 0). If the rounded absolute value is above `format.max`, or if `x` is infinite, `format.overflow` defines the
/// result: NaN, or an infinity or the greatest number (`Saturate`) with the sign of `x`. A zero, too, has the sign of
/// `x`, and NaN stays NaN in every format. The sign and the bits of a NaN do not matter.
///
/// Calculate in f64, which represents every f32 and every step here exactly.
pub fn round_to(x: f32, format: Format) -> f32 {
    todo!("6.1: find the spacing at x, round to a multiple of it, check for overflow")
}

/// What autocast does with the inputs of `operator`.
///
/// - `Casting::Low`: products (`Linear`, `Matmul`, `Convolution`). Tensor cores compute them, and accumulate in
///   fp32.
/// - `Casting::Full`: long sums (`Sum`, `Mean`, `Norm`); functions whose result may be far larger or smaller than
///   their input (`Exp`, `Log`, `Power`); and operators that consist of these (`Softmax`, `CrossEntropy`,
///   `MeanSquaredError`, `BatchNorm`, `LayerNorm`).
/// - `Casting::Widest`: operators on several tensors, none of which may lose bits (`Add`, `Concatenate`).
/// - `Casting::AsIs`: operators that return their inputs, or nearly (`Relu`, `Max`, `Dropout`, `Reshape`).
///
/// Without a `_` arm, the compiler tells you which operator is missing.
pub fn autocast(operator: Operator) -> Casting {
    todo!("6.2: a match over the operators")
}

/// The gradients of `loss`, computed from loss × `scale`, and whether any number in the returned gradients is
/// infinite or NaN.
///
/// `backward(loss)` runs one backward pass from the loss that it gets, and returns a gradient for each parameter, in
/// f32, fp16 or bf16. Call it once, with `loss` times `scale`; both are f32 scalars (shape []) of one graph. Convert
/// each gradient to f32 first and then divide it by `scale` (2^−126 to 2^126), because fp16 may not represent the
/// quotient. Return all, in f32 and in their order and shapes, even those that are not finite. Large finite gradients
/// are no overflow, even if their sum is infinite. Nor is an empty list. If `backward` fails, return its error.
pub fn scaled_gradients(loss: &Tensor, scale: f64, backward: Backward) -> Result<(Vec<Tensor>, bool)> {
    todo!("6.3: scale, run backward, convert and divide, check")
}

/// The loss scale after a step, by PyTorch's rule. `found_inf`: the gradients overflowed, and the step was skipped.
///
/// After an overflow, the scale is multiplied by `state.backoff` (½; below 1), and the count of good steps restarts at
/// 0. The scale has no lower limit. After a good step, `state.good` is incremented. When it reaches `state.interval`
/// (2,000; at least 1), the scale is multiplied by `state.growth` (2; above 1), and the count restarts at 0. If the new
/// scale would be above `f32::MAX`, it does not change, but the count still restarts at 0. No other field changes.
pub fn update_scale(state: &mut DynamicScaler, found_inf: bool) {
    todo!("6.4: two cases, and a count")
}

/// One step for low-precision `weights`, whose fp32 copies are `masters`. All are different variables.
///
/// `step(grads)` is the optimizer, which changes the masters. It requires fp32 gradients; call it once, with all of
/// them, finite or not. `grads` have the dtype of the weights; convert them to fp32, otherwise unrounded. Afterwards,
/// each weight is its master, rounded by `low(tensor)`, whatever its gradient is. The masters are as the optimizer
/// left them, with all their bits. `low` gets an fp32 tensor, and its result has the dtype of the weights. Masters,
/// weights and gradients are in the same order. If `step` fails, return its error and change no weight. If `low`
/// fails, return its error; some weights may be set then. Set a variable with `weight.set(&tensor)`.
pub fn master_step(
    masters: &[Var],
    weights: &[Var],
    grads: &[Tensor],
    step: &mut dyn FnMut(&[Tensor]) -> Result<()>,
    low: &dyn Fn(&Tensor) -> Result<Tensor>,
) -> Result<()> {
    todo!("6.5: convert, step, round")
}

/// The bytes of one parameter during training, with weights and gradients stored in `format` and an optimizer that
/// keeps `moments` fp32 numbers for each parameter (Adam 2, momentum 1, plain SGD 0, others more).
///
/// fp32 is stored in 4 bytes, 16-bit formats in 2, 8-bit formats in 1. tf32 is a format for multiplication, not for
/// storage, and is stored in 4 bytes. If weights are stored in fewer than 4 bytes, there is also a `master` of 4
/// bytes, otherwise none (0). `format.bits()` is 32, 19 (tf32), 16 or 8; a format with another `overflow` has the same.
pub fn bytes_per_parameter(format: Format, moments: u32) -> BytesPerParameter {
    todo!("6.6: weight, gradient, master, optimizer")
}

/// The factor for a tensor that is rounded to `format`, fp8 or wider; `amax` ≥ 0 is its greatest absolute value.
///
/// It is the largest power of two, 2^e, for which `amax` times the factor is at most `format.max`, with e then
/// reduced by `margin` (0 to 1,000). (With a power of two, scaling itself does not round.) Last, e is clamped to
/// −126 … 127, where f32 has normal numbers. The factor is 1 if `amax` is 0, infinite or NaN, whatever the margin.
/// Calculate in f64: in f32, a logarithm just below a whole number is rounded to that number.
pub fn scale_for(amax: f32, format: Format, margin: u32) -> f32 {
    todo!("6.7: format.max / amax, rounded down to a power of two")
}

/// How well tensor cores support `product`, [m, k] × [k, n], in `format`. The sides are at least 1.
///
/// `served`: tensor cores (of an H100) support every format except fp32, tf32 as well, whatever the sides are.
/// `padded`: each side rounded up to a multiple of 16 bytes, also for fp32. A number has 4 bytes in formats of more
/// than 16 bits, 2 in 16-bit formats, and 1 in 8-bit formats. `worth`: every side, before padding, is at least 128,
/// in any format. `format.bits()` is 32, 19 (tf32), 16 or 8; a format with another `overflow` has the same.
pub fn tensor_cores(product: Product, format: Format) -> TensorCores {
    todo!("6.8: which multiple, for three sides")
}
