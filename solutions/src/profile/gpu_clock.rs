//! When a CUDA device did what it was given: events on its stream, read only at the end, so that no step waits.
//!
//! Two events around a piece of work bound it from outside. Where the device has nothing queued, the second one comes only
//! when the host gives it, and the stretch between them is as long as the launching: such a piece kept pace with the host
//! and says nothing of how long its kernels took. nsys tells kernel by kernel.

use anyhow::Result;
use candle_core::Device;

use super::{Kind, Span};

/// A piece of work as the host gave it, nanoseconds.
pub struct Given {
    /// What it is called.
    pub name: &'static str,
    /// When the host had given all of it.
    pub end: u64,
    /// Around it, on the device.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub marks: (Mark, Mark),
}

/// A device's end within so many nanoseconds of the host's means that its queue was empty.
const PACE: f64 = 20_000.0;

/// From what the device measured to spans in `lane`: `times` are milliseconds from `origin` on the host's clock.
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

    /// A place in the device's queue.
    pub type Mark = Arc<CudaEvent>;

    /// The device's stream and an event whose time on the host's clock is known.
    pub struct GpuClock {
        stream: Arc<CudaStream>,
        first: Mark,
        origin: u64,
    }

    impl GpuClock {
        /// None for a device without a clock of its own.
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

        /// Waits for the last of `given`, and gives all as spans of the device.
        pub fn spans(&self, given: &[Given], lane: usize) -> Result<Vec<Span>> {
            // From event to event: a time since the first would soon lose its microseconds in an f32.
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

    /// There is none.
    pub enum Mark {}

    /// There is none.
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
