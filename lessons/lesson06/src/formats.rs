//! Formats and numbers, as the checks list and name them.

use canopy::precision::{BF16, FP8_E4M3, FP8_E5M2, FP16, FP32, Format, Overflow, TF32};

pub const ALL: [Format; 6] = [FP8_E4M3, FP8_E5M2, FP16, BF16, TF32, FP32];

/// The same bits; most of these are no constants of canopy.
pub fn with_every_overflow(formats: &[Format]) -> Vec<Format> {
    let overflows = [Overflow::Infinity, Overflow::Nan, Overflow::Saturate];
    formats
        .iter()
        .flat_map(|f| overflows.map(|o| f.with(o)))
        .collect()
}

/// The name of a format, with its overflow if that is not the usual one.
pub fn named(format: Format) -> String {
    if ALL.contains(&format) {
        return format.name.to_owned();
    }
    format!("{} with Overflow::{:?}", format.name, format.overflow)
}

pub fn times(factor: f64, list: &[f64]) -> Vec<f32> {
    list.iter().map(|x| (x * factor) as f32).collect()
}
