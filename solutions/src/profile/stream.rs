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

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A device with 900 ns of old work, whose every piece takes 100 ns and fails at the `fails`-th wait.
    struct Made {
        host: Cell<u64>,
        free: Cell<u64>,
        fails: Cell<i32>,
    }

    impl Stream for Made {
        fn now(&self) -> u64 {
            self.host.get()
        }

        fn wait(&self) -> Result<()> {
            self.host.set(self.host.get().max(self.free.get()));
            self.fails.set(self.fails.get() - 1);
            if self.fails.get() == 0 {
                candle_core::bail!("an illegal address");
            }
            Ok(())
        }
    }

    fn timed(fails: i32) -> Result<Vec<u64>> {
        let (host, free, fails) = (Cell::new(0), Cell::new(900), Cell::new(fails));
        let made = Made { host, free, fails };
        time_device(&made, 2, 3, &mut || {
            made.host.set(made.host.get() + 5);
            made.free.set(made.free.get().max(made.host.get()) + 100);
            Ok(())
        })
    }

    #[test]
    fn neither_earlier_work_nor_the_warm_up_is_counted() {
        assert_eq!(timed(-1).unwrap(), [105, 105, 105]);
    }

    #[test]
    fn an_error_that_surfaces_late_is_returned() {
        assert!(timed(3).unwrap_err().to_string().contains("illegal address"));
    }

    #[test]
    fn work_on_the_cpu_is_timed() {
        let times = time_device(&Device::Cpu, 1, 2, &mut || {
            std::thread::sleep(std::time::Duration::from_millis(1));
            Ok(())
        });
        assert!(times.unwrap().iter().all(|&t| t >= 1_000_000));
    }
}
