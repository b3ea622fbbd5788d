//! Number formats and rounding to them.

use half::slice::HalfFloatSliceExt;

// ANCHOR: Overflow
/// The result of rounding a number beyond a format's largest finite value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Infinity, as in IEEE 754.
    Infinity,
    /// NaN, for a format without infinity.
    Nan,
    /// The largest finite value, as when Transformer Engine casts to fp8.
    Saturate,
}
// ANCHOR_END: Overflow

// ANCHOR: Format
/// A binary floating-point format: a sign bit, `exponent` bits with the bias 2^(exponent−1) − 1, and `mantissa` bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// Bits of the exponent.
    pub exponent: u32,
    /// Bits of the mantissa, without the implicit leading bit.
    pub mantissa: u32,
    /// The largest finite value.
    pub max: f64,
    /// The result of rounding beyond it.
    pub overflow: Overflow,
}
// ANCHOR_END: Format

/// IEEE 754 binary32.
pub const FP32: Format = ieee("fp32", 8, 23);
/// The input format of fp32 products on tensor cores: the range of fp32 with the mantissa of fp16.
pub const TF32: Format = ieee("tf32", 8, 10);
/// IEEE 754 binary16.
pub const FP16: Format = ieee("fp16", 5, 10);
/// bfloat16: the upper half of an fp32.
pub const BF16: Format = ieee("bf16", 8, 7);
/// fp8 for gradients (Micikevicius et al. 2022, "FP8 formats for deep learning", table 1).
pub const FP8_E5M2: Format = ieee("fp8 e5m2", 5, 2);
/// fp8 for weights and activations (same source): it has no infinity and uses the top exponent for finite values, so its
/// largest value is 448.
pub const FP8_E4M3: Format = Format {
    name: "fp8 e4m3",
    exponent: 4,
    mantissa: 3,
    max: 448.0,
    overflow: Overflow::Nan,
};

const fn ieee(name: &'static str, exponent: u32, mantissa: u32) -> Format {
    // (2 − 2^−mantissa)·2^bias, which is exact in f64.
    let bias = (1u64 << (exponent - 1)) - 1;
    let whole = ((1u64 << (mantissa + 1)) - 1) as f64;
    Format {
        name,
        exponent,
        mantissa,
        max: whole * power_of_two(bias as i32 - mantissa as i32),
        overflow: Overflow::Infinity,
    }
}

/// Returns 2^`n`, for exponents of normal f64 numbers.
const fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

impl Format {
    /// Returns the exponent of the smallest normal number.
    pub const fn least_exponent(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    /// Returns the smallest number above 0, which is subnormal: 2^([`Self::least_exponent`] − mantissa bits).
    pub const fn least(self) -> f64 {
        power_of_two(self.least_exponent() - self.mantissa as i32)
    }

    /// Returns the distance from 1 to the next larger number.
    pub const fn epsilon(self) -> f64 {
        power_of_two(-(self.mantissa as i32))
    }

    /// Returns the total number of bits.
    pub const fn bits(self) -> u32 {
        1 + self.exponent + self.mantissa
    }

    /// Returns the same format with another overflow behaviour.
    pub const fn with(self, overflow: Overflow) -> Self {
        Self { overflow, ..self }
    }
}

/// Rounds `x` to the nearest number of `format`, with ties to even.
///
/// Subnormal numbers are supported. A number (or an infinity) that would round beyond the largest finite value becomes the
/// format's [`Overflow`]. NaN stays NaN, and a zero keeps its sign.
pub fn round_to(x: f32, format: Format) -> f32 {
    if x.is_nan() || x == 0.0 {
        return x;
    }
    let wide = f64::from(x);
    let over = || match format.overflow {
        Overflow::Infinity => f32::INFINITY.copysign(x),
        Overflow::Nan => f32::NAN.copysign(x),
        Overflow::Saturate => (format.max as f32).copysign(x),
    };
    if x.is_infinite() {
        return over();
    }
    // Every f32 is a normal f64, whose exponent bits give floor(log₂|x|).
    let exponent = ((wide.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let spacing = power_of_two(exponent.max(format.least_exponent()) - format.mantissa as i32);
    let rounded = (wide / spacing).round_ties_even() * spacing;
    if rounded.abs() > format.max {
        return over();
    }
    rounded as f32
}

/// Rounds all of `values` as [`round_to`] does, with faster code for the common formats.
pub fn round_all(values: &mut [f32], format: Format) {
    if format == FP16 {
        let mut short = [half::f16::ZERO; 512];
        for values in values.chunks_mut(512) {
            let short = &mut short[..values.len()];
            short.convert_from_f32_slice(values);
            short.convert_to_f32_slice(values);
        }
    } else if format.exponent == 8 && format.mantissa < 23 && format.overflow == Overflow::Infinity {
        // The format has the exponents of fp32: rounding drops the low bits of the mantissa, also of subnormal numbers, and
        // a carry goes into the exponent.
        let past = 23 - format.mantissa;
        let half = (1 << (past - 1)) - 1;
        for v in values.iter_mut() {
            let bits = v.to_bits();
            let rounded = bits.wrapping_add(half + ((bits >> past) & 1)) & (u32::MAX << past);
            *v = if v.is_nan() { *v } else { f32::from_bits(rounded) };
        }
    } else {
        values.iter_mut().for_each(|v| *v = round_to(*v, format));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The fast form of fp16 is the half crate's.
        #[test]
        fn round_all_matches_round_to(bits in proptest::collection::vec(any::<u32>(), 1..40)) {
            let values: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
            for format in [FP32, TF32, BF16, FP16, FP8_E4M3, FP8_E5M2, BF16.with(Overflow::Saturate)] {
                let mut all = values.clone();
                round_all(&mut all, format);
                for (x, got) in values.iter().zip(all) {
                    let one = round_to(*x, format);
                    let same = got.to_bits() == one.to_bits() || (got.is_nan() && one.is_nan());
                    prop_assert!(same, "{x:e} to {}: got {got:e}, expected {one:e}", format.name);
                }
            }
        }
    }

    #[test]
    fn the_formats_have_their_published_limits() {
        let limits = [
            (FP16, 65504.0, 2f64.powi(-24), 16),
            (BF16, 3.389_531_389_251_535_5e38, 2f64.powi(-133), 16),
            (TF32, 3.401_162_134_214_653_5e38, 2f64.powi(-136), 19),
            (FP32, f64::from(f32::MAX), 2f64.powi(-149), 32),
            (FP8_E4M3, 448.0, 2f64.powi(-9), 8),
            (FP8_E5M2, 57344.0, 2f64.powi(-16), 8),
        ];
        for (format, max, least, bits) in limits {
            let name = format.name;
            assert_eq!(
                (format.max, format.least(), format.bits()),
                (max, least, bits),
                "{name}"
            );
            for x in [least as f32, max as f32] {
                assert_eq!(round_to(x, format), x, "{name}");
            }
        }
    }
}
