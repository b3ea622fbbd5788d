//! The links between ranks, and the one for everything except gradients: batch norm's sums, flags, digests, loss and accuracy,
//! and what this rank is doing.

use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::Result;
use candle_core::Tensor;

use super::ending::Reports;
use crate::{
    kernels::SumOverRanks,
    parallel::{Collective, gather},
    train::carrier::ErrorCarrier,
};

/// One rank's links to the others.
pub struct Links {
    pub control: Box<dyn Collective>,
    pub gradients: Box<dyn Collective>,
    pub reports: Reports,
    /// CPU threads of a rank that is a thread; none if it is a process, which has its own.
    pub threads: Option<usize>,
}

/// The link for everything except gradients.
pub struct Control {
    link: Mutex<Box<dyn Collective>>,
    reports: Reports,
    /// The current step.
    step: AtomicU64,
    /// The error of a sum within a pass: candle would keep only its text.
    fault: Mutex<ErrorCarrier>,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Control")
    }
}

impl Control {
    pub fn new(link: Box<dyn Collective>, reports: Reports) -> Self {
        Self {
            link: Mutex::new(link),
            reports,
            step: AtomicU64::new(0),
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

    /// Reports what this rank is about to do: a sign of life, and part of the error if the rank fails or stalls.
    pub fn doing(&self, what: &str) {
        let link = self.link();
        self.reports.doing(link.rank(), what);
        link.doing(what);
    }

    /// Sets the current step.
    pub fn begin_step(&self, step: u64) {
        self.step.store(step, Ordering::Relaxed);
    }

    /// Reports what this rank is about to do within the current step.
    pub fn within_step(&self, what: &str) {
        let step = self.step.load(Ordering::Relaxed);
        self.doing(&format!("in step {step}, {what}"));
    }

    /// Replaces `values` by their sums over all ranks, in the order of the ranks.
    pub fn sum_f64(&self, values: &mut [f64]) -> Result<()> {
        let all = gather(&**self.link(), values)?;
        values.fill(0.0);
        for rank in all.chunks_exact(values.len().max(1)) {
            for (sum, part) in values.iter_mut().zip(rank) {
                *sum += part;
            }
        }
        Ok(())
    }

    /// Returns which of `own` are true on any rank.
    pub fn any<const N: usize>(&self, own: [bool; N]) -> Result<[bool; N]> {
        let mut ranks = own.map(|own| f64::from(u8::from(own)));
        self.sum_f64(&mut ranks)?;
        Ok(ranks.map(|ranks| ranks > 0.0))
    }

    /// The sum of x over all ranks on its device, if the engine can.
    fn summed(&self, x: &Tensor) -> Result<Option<Tensor>> {
        let link = self.link();
        let Some(tensors) = link.on_tensors() else {
            return Ok(None);
        };
        let sum = tensors.start_sum(x)?.result()?;
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
