//! When a CUDA device ran its work: events on its stream, read only at the end, so that no step waits.
//!
//! Two events around a piece of work are an upper bound of its time. If the queue of the device is empty, the second event is
//! reached only when the host has launched it, and the time between them is that of the launching: the device kept pace with
//! the host, and the time of its kernels is unknown. nsys measures kernel by kernel.

use anyhow::Result;
use candle_core::Device;

use super::{Kind, Span};

/// A piece of work that the host launched; times in nanoseconds.
pub struct Given {
    /// Its name.
    pub name: &'static str,
    /// When the host had launched all of it.
    pub end: u64,
    /// The events before and after it on the device.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub marks: (Mark, Mark),
}

/// If the device ends within this many nanoseconds of the host, its queue was empty.
const PACE: f64 = 20_000.0;

/// Turns the device's times into spans of `lane`: `times` are milliseconds from `origin` on the host's clock.
fn spans_of(given: &[Given], times: &[(f64, f64)], origin: u64, lane: usize) -> Vec<Span> {
    let span = |(given, &(start, end)): (&Given, &(f64, f64))| {
        let ns = |ms: f64| (origin as f64 + ms * 1e6).max(0.0);
        let kept_pace = ns(end) <= given.end as f64 + PACE;
        let kind = if kept_pace { Kind::Other } else { Kind::Kernel };
        Span::new(given.name, kind, lane, ns(start) as u64, ns(end) as u64)
    };
    given.iter().zip(times).map(span).collect()
}

#[cfg(feature = "cuda")]
mod cuda {
    use std::sync::Arc;

    use candle_core::cuda_backend::cudarc::driver::{CudaEvent, CudaStream, sys::CUevent_flags};

    use super::*;

    /// A position in the device's queue.
    pub type Mark = Arc<CudaEvent>;

    /// The device's stream and an event whose time on the host's clock is known.
    pub struct GpuClock {
        stream: Arc<CudaStream>,
        first: Mark,
        origin: u64,
    }

    impl GpuClock {
        /// Returns None for a device without a clock of its own.
        pub fn of(device: &Device, now: &dyn Fn() -> u64) -> Result<Option<Self>> {
            let Ok(cuda) = device.as_cuda_device() else {
                return Ok(None);
            };
            let stream = cuda.cuda_stream();
            let event = || stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
            let first = Arc::new(event()?);
            first.synchronize()?;
            let origin = now();
            Ok(Some(Self {
                stream,
                first,
                origin,
            }))
        }

        pub fn mark(&self) -> Option<Mark> {
            let event = self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
            event.ok().map(Arc::new)
        }

        /// Waits for the last of `given`, and returns all as spans of the device.
        pub fn spans(&self, given: &[Given], lane: usize) -> Result<Vec<Span>> {
            // From event to event: an f32 would soon lose the microseconds of a time since the first one.
            let (mut at, mut last) = (0.0, self.first.clone());
            let mut step = |to: &Mark| -> Result<f64> {
                at += f64::from(last.elapsed_ms(to)?);
                last = to.clone();
                Ok(at)
            };
            let times: Result<Vec<(f64, f64)>> = given
                .iter()
                .map(|g| Ok((step(&g.marks.0)?, step(&g.marks.1)?)))
                .collect();
            Ok(spans_of(given, &times?, self.origin, lane))
        }
    }
}

#[cfg(not(feature = "cuda"))]
mod cuda {
    use super::*;

    /// Does not exist without CUDA.
    pub enum Mark {}

    /// Does not exist without CUDA.
    pub enum GpuClock {}

    impl GpuClock {
        pub fn of(_: &Device, _: &dyn Fn() -> u64) -> Result<Option<Self>> {
            Ok(None)
        }

        pub fn mark(&self) -> Option<Mark> {
            match *self {}
        }

        pub fn spans(&self, given: &[Given], lane: usize) -> Result<Vec<Span>> {
            Ok(spans_of(given, &[], 0, lane))
        }
    }
}

pub use cuda::{GpuClock, Mark};
