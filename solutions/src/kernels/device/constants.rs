//! Small tensors that a launch needs and a step does not change: a step of the same shapes uploads none of them again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use candle_core::{Device, Result, Tensor};

/// How many are kept. Batches of clouds of different lengths have new ones in each step.
const MOST: usize = 1024;

/// Tensors of one device by their values.
#[derive(Debug, Default)]
pub struct Constants {
    kept: Mutex<HashMap<Vec<i32>, Tensor>>,
    uploads: AtomicUsize,
}

impl Constants {
    /// `values` as a vector on `device`, which is uploaded the first time.
    ///
    /// # Errors
    /// Returns an error if the device is out of memory.
    pub fn tensor(&self, values: &[i32], device: &Device) -> Result<Tensor> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tensor) = kept.get(values) {
            return Ok(tensor.clone());
        }
        self.uploads.fetch_add(1, Ordering::Relaxed);
        let tensor = Tensor::new(values, device)?;
        if kept.len() < MOST {
            kept.insert(values.to_vec(), tensor.clone());
        }
        Ok(tensor)
    }

    /// How many vectors were uploaded so far.
    pub fn uploads(&self) -> usize {
        self.uploads.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_uploaded_once() {
        let constants = Constants::default();
        for (values, uploads) in [([1, 2], 1), ([1, 3], 2), ([1, 2], 2)] {
            let tensor = constants.tensor(&values, &Device::Cpu).unwrap();
            assert_eq!(tensor.to_vec1::<i32>().unwrap(), values);
            assert_eq!(constants.uploads(), uploads);
        }
        for value in 0..2 * MOST as i32 {
            constants.tensor(&[value], &Device::Cpu).unwrap();
        }
        let before = constants.uploads();
        constants.tensor(&[1, 3], &Device::Cpu).unwrap();
        assert_eq!(constants.uploads(), before);
    }
}
