//! A number in each format: its bits, its value and its error (chapter 06).

use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    json,
    precision::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, TF32, round_to},
};

const FORMATS: [Format; 6] = [FP32, TF32, BF16, FP16, FP8_E4M3, FP8_E5M2];

/// A number in one format.
#[derive(Serialize)]
struct Stored {
    format: &'static str,
    /// The fields as binary digits.
    sign: String,
    exponent: String,
    mantissa: String,
    value: String,
    /// |value − x| / |x|, missing if it is not finite.
    error: Option<f64>,
    largest: f64,
}

/// Returns `x`, rounded to each format.
#[wasm_bindgen]
pub fn float(x: f64) -> String {
    let stored = FORMATS.map(|format| {
        let value = round_to(x as f32, format);
        let (sign, exponent, mantissa) = fields(value, format);
        let error = ((f64::from(value) - x) / x).abs();
        Stored {
            format: format.name,
            sign: sign.to_string(),
            exponent: format!("{exponent:0width$b}", width = format.exponent as usize),
            mantissa: format!("{mantissa:0width$b}", width = format.mantissa as usize),
            value: format!("{value:?}"),
            error: error.is_finite().then_some(error),
            largest: format.max,
        }
    });
    json(&stored)
}

/// Returns the sums of `count` equal terms, each partial sum rounded to the format, as texts.
#[wasm_bindgen]
pub fn sum(term: f64, count: u32) -> String {
    let sums = FORMATS.map(|format| {
        let term = round_to(term as f32, format);
        let add = |sum: f32, _| round_to(sum + term, format);
        format!("{:?}", (0..count).fold(0.0, add))
    });
    json(&sums)
}

/// Returns sign, exponent and mantissa of `value`, a number of `format`.
fn fields(value: f32, format: Format) -> (u32, u32, u32) {
    let sign = u32::from(value.is_sign_negative());
    let full = (1 << format.exponent) - 1;
    if value.is_nan() {
        return (sign, full, (1 << format.mantissa) - 1);
    }
    if value.is_infinite() {
        return (sign, full, 0);
    }
    let (magnitude, least) = (f64::from(value.abs()), format.least_exponent());
    // The exponent bits of an f64; those of 0 are below every format's smallest exponent.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(least);
    let whole = (magnitude / 2f64.powi(exponent - format.mantissa as i32)) as u32;
    match whole >> format.mantissa {
        0 => (sign, 0, whole),
        _ => (
            sign,
            (exponent - least + 1) as u32,
            whole - (1 << format.mantissa),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_fields_are_the_bits_of_the_number(x in any::<f32>()) {
            let join = |format: Format| {
                let (sign, exponent, mantissa) = fields(round_to(x, format), format);
                (sign << (format.bits() - 1)) | (exponent << format.mantissa) | mantissa
            };
            prop_assert_eq!(join(FP32), x.to_bits());
            prop_assert_eq!(join(BF16), u32::from(half::bf16::from_f32(x).to_bits()));
            prop_assert_eq!(join(FP16), u32::from(half::f16::from_f32(x).to_bits()));
        }
    }

    #[test]
    fn a_sum_stops_growing_where_the_term_is_half_a_spacing() {
        assert_eq!(
            sum(1.0, 1_000),
            r#"["1000.0","1000.0","256.0","1000.0","16.0","8.0"]"#
        );
    }
}
