//! Tensors as the grader compares them, and numbers as a student reads them.

use candle_core::{DType, Result, Tensor};
use grader::Values;

/// The numbers of a tensor in f64, with its shape and its own dtype.
///
/// # Errors
/// Returns the errors of the conversion to f64.
pub fn values(tensor: &Tensor) -> Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}

/// Numbers in short, with commas; at most 24 of them.
pub fn shown(numbers: &[f64]) -> String {
    let first = &numbers[..numbers.len().min(24)];
    let mut list: Vec<String> = first.iter().map(|&x| grader::number(x)).collect();
    if first.len() < numbers.len() {
        list.push("…".into());
    }
    list.join(", ")
}
