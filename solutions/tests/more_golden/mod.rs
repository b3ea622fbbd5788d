//! `more_optimizers.golden`, and how far a tensor is from one of it.

use std::collections::HashMap;

use candle_core::{DType, Device, Tensor};

pub fn golden() -> HashMap<String, Tensor> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/goldens/more_optimizers.golden.safetensors"
    );
    candle_core::safetensors::load(path, &Device::Cpu).unwrap()
}

pub fn numbers(tensor: &Tensor) -> Vec<f64> {
    let flat = tensor.to_dtype(DType::F64).unwrap().flatten_all().unwrap();
    flat.to_vec1().unwrap()
}

/// Greatest difference over greatest value.
pub fn error(got: &Tensor, expected: &Tensor) -> f64 {
    let (got, expected) = (numbers(got), numbers(expected));
    let size = expected.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let off = got.iter().zip(&expected).map(|(g, e)| (g - e).abs());
    off.fold(0.0, |m: f64, d| if d.is_nan() { f64::INFINITY } else { m.max(d) }) / size
}
