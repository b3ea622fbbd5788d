//! Scales for fp8: each tensor is multiplied by a factor, so that its largest magnitude is near the format's largest value.

use super::Format;

/// Returns the scale of a tensor with the largest magnitude `amax`: the format's largest value divided by `amax`, rounded
/// down to a power of two so that scaling is exact, and halved `margin` times. Returns 1 if `amax` is 0 or not finite.
pub fn scale_for(amax: f32, format: Format, margin: u32) -> f32 {
    if amax == 0.0 || !amax.is_finite() {
        return 1.0;
    }
    let exponent = (format.max / f64::from(amax)).log2().floor() as i32 - margin as i32;
    // The exponents of normal f32 numbers.
    2f32.powi(exponent.clamp(-126, 127))
}
