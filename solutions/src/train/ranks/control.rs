//! The link between ranks for everything except gradients: batch norm's sums, flags, digests, loss and accuracy.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::Result;
use candle_core::Tensor;

use crate::{
    kernels::SumOverRanks,
    parallel::{Collective, Operation},
    train::carrier::ErrorCarrier,
};

/// The link for everything except gradients.
pub struct Control {
    link: Mutex<Box<dyn Collective>>,
    /// The error of a sum within a pass: candle would keep only its text.
    fault: Mutex<ErrorCarrier>,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Control")
    }
}

impl Control {
    pub fn new(link: Box<dyn Collective>) -> Self {
        Self {
            link: Mutex::new(link),
            fault: Mutex::default(),
        }
    }

    /// Returns the result of a pass, with the whole error of a sum within it that failed.
    pub fn restore<T>(&self, result: Result<T>) -> Result<T> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *fault).restore(result)
    }

    pub fn link(&self) -> MutexGuard<'_, Box<dyn Collective>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gathers `mine` of all ranks, in the order of the ranks.
    pub fn gather(&self, mine: &[f32]) -> Result<Vec<f32>> {
        let link = self.link();
        let mut whole = vec![0.0; mine.len() * link.world_size()];
        link.all_gather(mine, &mut whole)?;
        Ok(whole)
    }

    /// Replaces `values` by their sums over all ranks, in the order of the ranks, in f64. Each number travels as two f32,
    /// which hold 48 of its 53 bits.
    pub fn sum_f64(&self, values: &mut [f64]) -> Result<()> {
        let halves = |&v: &f64| [v as f32, (v - f64::from(v as f32)) as f32];
        let mine: Vec<f32> = values.iter().flat_map(halves).collect();
        let whole = self.gather(&mine)?;
        values.fill(0.0);
        for rank in whole.chunks_exact(mine.len().max(1)) {
            for (sum, part) in values.iter_mut().zip(rank.chunks_exact(2)) {
                *sum += f64::from(part[0]) + f64::from(part[1]);
            }
        }
        Ok(())
    }

    /// The sum of x over all ranks on its device, if the engine can.
    fn summed(&self, x: &Tensor) -> Result<Option<Tensor>> {
        let link = self.link();
        let Some(tensors) = link.on_tensors() else {
            return Ok(None);
        };
        let sum = tensors.start(Operation::AllReduce(x))?.result()?;
        Ok(Some(sum.reshape(x.shape())?))
    }

    fn keep<T>(&self, result: Result<T>) -> candle_core::Result<T> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.keep(result)
    }
}

impl SumOverRanks for Control {
    fn sum(&self, values: &mut [f64]) -> candle_core::Result<()> {
        self.keep(self.sum_f64(values))
    }

    fn sum_on_device(&self, x: &Tensor) -> candle_core::Result<Option<Tensor>> {
        self.keep(self.summed(x))
    }
}
