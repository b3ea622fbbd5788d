//! Scalars that a device may still be computing, and the only place where the trainer waits for them.

use std::cell::Cell;

use candle_core::{DType, Result, Tensor, bail};

thread_local! {
    static WAITS: Cell<u64> = const { Cell::new(0) };
}

/// A scalar on a device that may not be computed yet, such as a loss or a number of correct predictions.
///
/// A GPU runs asynchronously: an operator only queues work, and so do sums and products of such scalars. Reading one waits
/// until all queued work is done, and nothing new is queued meanwhile.
#[derive(Clone, Debug)]
pub struct OnDevice(Tensor);

impl OnDevice {
    /// Wraps the only element of `tensor`, which may have any shape, detached from the graph.
    ///
    /// # Errors
    /// Returns an error unless the tensor has exactly one element.
    pub fn new(tensor: &Tensor) -> Result<Self> {
        if tensor.elem_count() != 1 {
            let shape = tensor.dims();
            bail!("expected a tensor with one element, got shape {shape:?}");
        }
        Ok(Self(tensor.detach().reshape(())?.to_dtype(DType::F32)?))
    }

    /// Returns the sum, without waiting.
    ///
    /// # Errors
    /// Returns an error if the two are on different devices.
    pub fn plus(&self, other: &Self) -> Result<Self> {
        Ok(Self((&self.0 + &other.0)?))
    }

    /// Returns the product with `factor`, without waiting.
    pub fn times(&self, factor: f64) -> Result<Self> {
        Ok(Self((&self.0 * factor)?))
    }

    /// Waits for the device and returns the number.
    ///
    /// # Errors
    /// Returns an error if candle fails; on a GPU this may be the error of an earlier operator.
    pub fn read(&self) -> Result<f64> {
        Ok(Self::read_all(std::slice::from_ref(self))?[0])
    }

    /// Returns all of `numbers` in their order, with a single wait, or with none if `numbers` is empty.
    pub fn read_all(numbers: &[Self]) -> Result<Vec<f64>> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let tensors: Vec<&Tensor> = numbers.iter().map(|n| &n.0).collect();
        let together = Tensor::stack(&tensors, 0)?;
        WAITS.set(WAITS.get() + 1);
        let read: Vec<f32> = together.to_vec1()?;
        Ok(read.into_iter().map(f64::from).collect())
    }

    /// Returns how often this thread has waited so far.
    pub fn waits() -> u64 {
        WAITS.get()
    }
}

/// Returns the mean loss of `steps`, Σ clouds·loss / Σ clouds; 0 without steps. Advancing the iterator takes a step and
/// yields its loss, still on the device, and its number of clouds. All losses are read in one wait after the last step.
///
/// # Errors
/// Returns the first error of a step at once.
pub fn mean_loss(steps: &mut dyn Iterator<Item = Result<(OnDevice, u64)>>) -> Result<f64> {
    let (mut losses, mut clouds) = (Vec::new(), Vec::new());
    for step in steps {
        let (loss, count) = step?;
        losses.push(loss);
        clouds.push(count);
    }
    let all: u64 = clouds.iter().sum();
    let read = OnDevice::read_all(&losses)?;
    let sum: f64 = read.iter().zip(&clouds).map(|(loss, &n)| loss * n as f64).sum();
    Ok(sum / all.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    #[test]
    fn sums_and_products_are_read_in_one_wait_and_only_a_scalar_is_accepted() {
        let number = |value: f32| OnDevice::new(&Tensor::new(value, &Device::Cpu).unwrap()).unwrap();
        let before = OnDevice::waits();
        assert_eq!(OnDevice::read_all(&[]).unwrap(), Vec::<f64>::new());
        let sum = number(1.5).plus(&number(2.0)).unwrap().times(2.0).unwrap();
        assert_eq!(OnDevice::waits(), before);
        assert_eq!(OnDevice::read_all(&[sum, number(4.0)]).unwrap(), [7.0, 4.0]);
        assert_eq!(OnDevice::waits(), before + 1);
        let two = Tensor::zeros(2, DType::F32, &Device::Cpu).unwrap();
        assert!(OnDevice::new(&two).is_err());
    }
}
