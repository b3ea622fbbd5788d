//! Lesson 06: mixed precision. Put your code where a `todo!` stands; the comment above says what is asked.
//!
//! `cargo test -p lesson06` checks all, `cargo test -p lesson06 6.2` one exercise. `cargo course hint 6.2` helps.

use candle_core::{DType, Result, Tensor, Var};
use canopy::precision::{
    BytesPerParameter, Casting, DynamicScaler, Format, Operator, Overflow, Product, TensorCores, Walk,
};

/// The number of `format` nearest to `x`; of two as near, the one whose last bit is 0 (the even multiple of the spacing).
///
/// Numbers of the format lie 2^(e − m) apart, m being `format.mantissa` and e the exponent of `x`, 2^e ≤ |x| < 2^(e+1);
/// below 2^`format.least_exponent()` they lie as far apart as just above it (the subnormal numbers, and 0). What would
/// round to more than `format.max` in size becomes what `format.overflow` says, and an infinity does, too: an infinity,
/// NaN, or the greatest number (`Saturate`), with the sign of `x`. NaN stays NaN, and a zero keeps its sign.
///
/// Calculate in f64: it holds every f32, and each step here, exactly.
pub fn round_to(x: f32, format: Format) -> f32 {
    todo!("6.1: find the spacing at x, round to a multiple of it, look whether it fits")
}

/// What autocast does with the inputs of `operator`.
///
/// `Casting::Low`: products (`Linear`, `Matmul`, `Convolution`); tensor cores take them, and keep their sums in fp32.
/// `Casting::Full`: long sums (`Sum`, `Mean`, `Norm`); functions whose result may be far larger than what they take, or
/// far smaller (`Exp`, `Log`, `Power`); what is made of such (`Softmax`, `CrossEntropy`, `MeanSquaredError`, `BatchNorm`,
/// `LayerNorm`). `Casting::Widest`: where several tensors meet and none may lose bits (`Add`, `Concatenate`).
/// `Casting::AsIs`: what gives numbers that it was given, or nearly (`Relu`, `Max`, `Dropout`, `Reshape`).
///
/// Without a `_` arm the compiler says which operator you have forgotten.
pub fn autocast(operator: Operator) -> Casting {
    todo!("6.2: a match over the operators")
}

/// The gradients of `loss`, by way of the loss × `scale`; and whether one of them is infinite or NaN.
///
/// `walk(loss)` walks backward once from the loss that it is given, and gives a gradient a parameter, perhaps in fp16.
/// Give it `loss` times `scale`. Turn each gradient to fp32, then divide it by `scale`: fp16 may not hold the quotient.
/// They come back in their order, whatever is in them. Many large gradients that are all finite are no overflow, even
/// where their sum is. If `walk` fails, so do you. `loss` is a scalar; it is never f64.
pub fn scaled_gradients(loss: &Tensor, scale: f64, walk: Walk) -> Result<(Vec<Tensor>, bool)> {
    todo!("6.3: scale, walk, widen and divide, look")
}

/// The loss scale after a step, by PyTorch's rule. `found_inf`: its gradients overflowed, and it was left out.
///
/// After an overflow the scale is multiplied by `state.backoff` (½), and good steps are counted from 0 again. After a good
/// step `state.good` is one more; when it reaches `state.interval` (2,000) the scale is multiplied by `state.growth` (2),
/// and good steps are counted from 0 again. A scale that an f32 cannot hold is not taken: it stays as it is, and good
/// steps are counted from 0 again all the same.
pub fn update_scale(state: &mut DynamicScaler, found_inf: bool) {
    todo!("6.4: two cases, and a count")
}

/// One step for `weights` of few bits, whose fp32 copies are `masters`.
///
/// `step(grads)` is the optimizer: it changes the masters by gradients that must be fp32; call it once, with all of them.
/// `grads` come in the weights' own number type. Afterwards each weight is its master as `low(tensor)` rounds it, and the
/// masters are as the optimizer left them, with all their bits. Masters, weights and gradients are in one order. If `step`
/// fails, so do you, and no weight has changed. Set a variable with `weight.set(&tensor)`.
pub fn master_step(
    masters: &[Var],
    weights: &[Var],
    grads: &[Tensor],
    step: &mut dyn FnMut(&[Tensor]) -> Result<()>,
    low: &dyn Fn(&Tensor) -> Result<Tensor>,
) -> Result<()> {
    todo!("6.5: widen, step, round")
}

/// The bytes that one parameter takes while it is trained, with weights and gradients stored in `format` and an optimizer
/// that keeps `moments` fp32 numbers a parameter (Adam 2, momentum 1, plain SGD none).
///
/// fp32 is stored in 4 bytes, 16-bit formats in 2, 8-bit ones in 1. tf32 is a way to multiply, not to store: 4. Where
/// weights are stored in less than 4 bytes there is a `master` of 4 as well, otherwise none (0). `format.bits()` is 32,
/// 19 (tf32), 16 or 8.
pub fn bytes_per_parameter(format: Format, moments: u32) -> BytesPerParameter {
    todo!("6.6: weight, gradient, master, optimizer")
}

/// The factor for an fp8 tensor whose greatest magnitude is `amax`.
///
/// The largest power of two, 2^e, that leaves `amax` times the factor at `format.max` or below; then e is smaller by
/// `margin`. (A power of two, so that scaling itself rounds nothing.) e is kept from −126 to 127, where f32 has ordinary
/// numbers. 1 where `amax` is 0, infinite or NaN. Calculate in f64: in f32, a logarithm just under a whole number is that
/// number.
pub fn scale_for(amax: f32, format: Format, margin: u32) -> f32 {
    todo!("6.7: format.max over amax, its power of two")
}

/// How well tensor cores take `product`, [m, k] × [k, n], in `format`.
///
/// `served`: they take every format but fp32 (which they multiply as tf32, if that is allowed: then the format is tf32).
/// `padded`: each side made up to whole pieces of 16 bytes, as few as will do; a number is 4 bytes in formats of more than
/// 16 bits, 2 in 16-bit formats and 1 in 8-bit ones. `worth`: every side, as it is, is at least 128.
pub fn tensor_cores(product: Product, format: Format) -> TensorCores {
    todo!("6.8: which multiple, and three sides")
}
