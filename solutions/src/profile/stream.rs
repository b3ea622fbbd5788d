//! Timing of work that a device runs after it was launched.

use std::{sync::LazyLock, time::Instant};

use candle_core::{Device, Result};

// ANCHOR: Stream
/// A device that runs queued work in order, and the clock of the host.
pub trait Stream {
    /// Nanoseconds on the host's clock.
    fn now(&self) -> u64;

    /// Returns when all queued work has finished. An error of that work is returned here.
    ///
    /// # Errors
    /// Returns the device's errors, also of work that was queued long before.
    fn wait(&self) -> Result<()>;
}
// ANCHOR_END: Stream

/// The start of this program's clock.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Stream for Device {
    fn now(&self) -> u64 {
        BEGAN.elapsed().as_nanos() as u64
    }

    /// On the CPU there is nothing to wait for: work has finished when its call returns.
    fn wait(&self) -> Result<()> {
        self.synchronize()
    }
}

/// The time that the device takes for each of `runs` calls of `work`, in nanoseconds, after `warm_up` calls that are not
/// timed.
///
/// Waits for the device before the clock is first read, so that earlier work is not counted, and before each later reading.
///
/// # Errors
/// Returns the errors of the work and of the device.
pub fn time_device(
    device: &dyn Stream,
    warm_up: usize,
    runs: usize,
    work: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<u64>> {
    for _ in 0..warm_up {
        work()?;
    }
    device.wait()?;
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = device.now();
        work()?;
        device.wait()?;
        times.push(device.now() - start);
    }
    Ok(times)
}
