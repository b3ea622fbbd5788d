//! Variables whose memory is released while nobody uses them.

use std::cell::Cell;

use candle_core::{Result, Var, bail};

use super::values::write;

/// Frees the numbers of `variable`, an f32 on the CPU. Until [`fill`] gives it new ones, only its shape may be used.
///
/// # Errors
/// Returns an error for another dtype or another device.
pub fn release(variable: &Var) -> Result<()> {
    replace(variable, Vec::new())
}

/// Gives `variable`, an f32 on the CPU, the memory `numbers`: all tensors that share its memory see them.
///
/// # Errors
/// Returns an error for another dtype, another device, or another number of elements.
pub fn fill(variable: &Var, numbers: Vec<f32>) -> Result<()> {
    if numbers.len() != variable.elem_count() {
        let (found, shape) = (numbers.len(), variable.dims());
        bail!("expected the numbers of a variable of shape {shape:?}, got {found}");
    }
    replace(variable, numbers)
}

fn replace(variable: &Var, numbers: Vec<f32>) -> Result<()> {
    let numbers = Cell::new(numbers);
    write(&[variable.as_tensor()], &|tensors| {
        for (values, _) in tensors {
            *values = numbers.take();
        }
    })
    .map_err(|e| e.context("the memory of a variable is released and filled only as a whole"))
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;

    #[test]
    fn a_filled_variable_has_its_numbers_also_in_tensors_that_share_them() {
        let variable = Var::from_vec(vec![1f32, 2.0, 3.0], 3, &Device::Cpu).unwrap();
        let shared = variable.as_detached_tensor();
        release(&variable).unwrap();
        assert_eq!(variable.dims(), [3]);
        fill(&variable, vec![4.0, 5.0, 6.0]).unwrap();
        assert_eq!(shared.to_vec1::<f32>().unwrap(), [4.0, 5.0, 6.0]);
        assert!(fill(&variable, vec![1.0]).is_err());
        let wide = Var::zeros(3, DType::F64, &Device::Cpu).unwrap();
        assert!(release(&wide).is_err());
    }
}
