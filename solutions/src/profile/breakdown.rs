//! The times of the parts of a training step, for `--wall-clock-breakdown`: sums by the name of [`work`](super::work) on one
//! thread. Unlike a recording, they need no memory, and may run beside one.

use std::cell::RefCell;

use candle_core::Device;

thread_local! {
    static SUMS: RefCell<Option<Sums>> = const { RefCell::new(None) };
}

struct Sums {
    device: Device,
    /// Seconds by name, in the order of their first appearance.
    seconds: Vec<(&'static str, f64)>,
}

/// Sums up the times of the calling thread's work until it is dropped.
#[derive(Debug)]
pub struct Breakdown(());

impl Breakdown {
    /// Starts at 0. Each part waits for `device`, so that its time is that of the work, not of its launch.
    pub fn start(device: &Device) -> Self {
        let (device, seconds) = (device.clone(), Vec::new());
        SUMS.set(Some(Sums { device, seconds }));
        Self(())
    }

    /// Returns the seconds of each part since the last call, and starts at 0 again.
    pub fn take(&self) -> Vec<(&'static str, f64)> {
        SUMS.with_borrow_mut(|sums| sums.as_mut().map(|s| std::mem::take(&mut s.seconds)))
            .unwrap_or_default()
    }
}

impl Drop for Breakdown {
    fn drop(&mut self) {
        SUMS.set(None);
    }
}

/// The sums of a thread that waits while another one does its work.
pub struct Carried(Option<Sums>);

impl Carried {
    /// Takes the sums of the calling thread, if it has a [`Breakdown`].
    pub fn take() -> Self {
        Self(SUMS.take())
    }

    /// Gives them to the calling thread.
    pub fn resume(self) {
        SUMS.set(self.0);
    }
}

/// The device of the calling thread's [`Breakdown`], if it has one.
pub(super) fn device() -> Option<Device> {
    SUMS.with_borrow(|sums| sums.as_ref().map(|s| s.device.clone()))
}

/// Adds the time of a part to the calling thread's [`Breakdown`], if it has one.
pub(super) fn add(part: &'static str, nanoseconds: u64) {
    SUMS.with_borrow_mut(|sums| {
        let Some(sums) = sums else { return };
        let seconds = nanoseconds as f64 / 1e9;
        match sums.seconds.iter_mut().find(|(name, _)| *name == part) {
            Some((_, sum)) => *sum += seconds,
            None => sums.seconds.push((part, seconds)),
        }
    });
}

#[cfg(test)]
mod tests {
    use std::{sync::PoisonError, thread, time::Duration};

    use super::*;
    use crate::profile::{recorder::TURN, work};

    #[test]
    fn times_of_one_name_add_up_until_they_are_taken() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        drop(work("before"));
        let breakdown = Breakdown::start(&Device::Cpu);
        for name in ["forward", "backward", "forward"] {
            let _part = work(name);
            thread::sleep(Duration::from_millis(2));
        }
        thread::spawn(|| drop(work("another thread"))).join().unwrap();
        let (names, seconds): (Vec<_>, Vec<f64>) = breakdown.take().into_iter().unzip();
        assert_eq!(names, ["forward", "backward"]);
        assert!(seconds[0] >= 0.004 && seconds[1] >= 0.002, "{seconds:?}");
        assert!(breakdown.take().is_empty());
        drop(breakdown);
        drop(work("after"));
        assert!(Breakdown::start(&Device::Cpu).take().is_empty());
    }
}
