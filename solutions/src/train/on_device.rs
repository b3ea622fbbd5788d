//! Numbers that a device is still computing, and the one place where the trainer waits for them.

use std::cell::Cell;

use candle_core::{DType, Result, Tensor, bail};

thread_local! {
    static WAITS: Cell<u64> = const { Cell::new(0) };
}

/// One number on a device, which may not be there yet: a loss, a count of hits.
///
/// A GPU works behind the program: an operator only asks for work. Sums and products of such numbers ask for more of it;
/// reading one waits until all that was asked for before is done, and meanwhile nothing new is asked for.
#[derive(Clone, Debug)]
pub struct OnDevice(Tensor);

impl OnDevice {
    /// The one number of `tensor`, of whatever shape; no graph is kept with it.
    ///
    /// # Errors
    /// More numbers than one, or none.
    pub fn new(tensor: &Tensor) -> Result<Self> {
        if tensor.elem_count() != 1 {
            bail!("expected one number, got a tensor of shape {:?}", tensor.dims());
        }
        Ok(Self(tensor.detach().reshape(())?.to_dtype(DType::F32)?))
    }

    /// The sum, without a wait.
    ///
    /// # Errors
    /// candle's, where the two are on different devices.
    pub fn plus(&self, other: &Self) -> Result<Self> {
        Ok(Self((&self.0 + &other.0)?))
    }

    /// The product with `factor`, without a wait.
    ///
    /// # Errors
    /// candle's.
    pub fn times(&self, factor: f64) -> Result<Self> {
        Ok(Self((&self.0 * factor)?))
    }

    /// The number. Waits.
    ///
    /// # Errors
    /// candle's; on a GPU also the error of an operator before.
    pub fn read(&self) -> Result<f64> {
        Ok(Self::read_all(std::slice::from_ref(self))?[0])
    }

    /// All of `numbers`, in their order, in a single wait; in none where there are none.
    ///
    /// # Errors
    /// As [`Self::read`].
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

    /// How often this thread has waited for such numbers so far.
    pub fn waits() -> u64 {
        WAITS.get()
    }
}

/// The mean loss of `steps`: Σ clouds·loss / Σ clouds, 0 without any. Each item is a step taken when it is asked for, its
/// loss still on the device, with its number of clouds; the losses are read in one wait, when all steps are asked for.
///
/// # Errors
/// A step's own, at once.
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

    fn number(value: f32) -> OnDevice {
        OnDevice::new(&Tensor::new(value, &Device::Cpu).unwrap()).unwrap()
    }

    #[test]
    fn arithmetic_does_not_wait_and_reading_waits_once_for_all() {
        let before = OnDevice::waits();
        let sum = number(1.5).plus(&number(2.0)).unwrap().times(2.0).unwrap();
        assert_eq!(OnDevice::waits(), before);
        assert_eq!(OnDevice::read_all(&[sum, number(-1.0)]).unwrap(), [7.0, -1.0]);
        assert_eq!(OnDevice::waits(), before + 1);
        assert!(OnDevice::read_all(&[]).unwrap().is_empty());
        assert_eq!(OnDevice::waits(), before + 1);
    }

    #[test]
    fn an_epoch_waits_once() {
        let before = OnDevice::waits();
        let mut seen = Vec::new();
        let mut steps = [(2.0, 3), (1.0, 1)].into_iter().map(|(loss, clouds)| {
            seen.push(OnDevice::waits());
            Ok((number(loss), clouds))
        });
        assert_eq!(mean_loss(&mut steps).unwrap(), 7.0 / 4.0);
        assert_eq!(seen, [before, before]);
        assert_eq!(OnDevice::waits(), before + 1);
        assert_eq!(mean_loss(&mut std::iter::empty()).unwrap(), 0.0);
    }

    #[test]
    fn a_tensor_of_several_numbers_is_refused() {
        assert!(OnDevice::new(&Tensor::zeros(2, DType::F32, &Device::Cpu).unwrap()).is_err());
    }
}
