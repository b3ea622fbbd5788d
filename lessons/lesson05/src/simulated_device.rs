//! A simulated device for the checks of exercise 5.2.

use std::cell::Cell;

use candle_core::{Result, bail};
use canopy::profile::Stream;

/// Nanoseconds that the host needs to launch a piece of work.
const GIVING: u64 = 700;
/// Nanoseconds that the host needs to notice that the device is done.
const NOTICING: u64 = 300;
/// The clock at the start: more than f64 can count exactly.
const START: u64 = 1_700_000_000_000_000_123;

/// A device that runs each piece of work after its launch. All its times are simulated.
pub struct Device {
    /// Nanoseconds of each piece of work.
    costs: Vec<u64>,
    /// The host's clock.
    host: Cell<u64>,
    /// When the device will be done.
    done: Cell<u64>,
    taken: Cell<usize>,
    older: u64,
    /// Which piece fails, counted from 1, and whether at once.
    breaks: Option<(usize, bool)>,
    /// How often the clock was read.
    readings: Cell<usize>,
    /// A piece has failed, and no wait has reported it yet.
    failed: Cell<bool>,
}

impl Device {
    /// The error of a piece of work that fails when it is launched.
    pub const AT_ONCE: &str = "out of memory";
    /// The error of the wait after a piece that failed later.
    pub const AT_A_WAIT: &str = "an illegal memory access was encountered";

    pub fn new(costs: Vec<u64>) -> Self {
        Self {
            costs,
            host: Cell::new(START),
            done: Cell::new(0),
            taken: Cell::new(0),
            older: 0,
            breaks: None,
            readings: Cell::new(0),
            failed: Cell::new(false),
        }
    }

    /// With `time` nanoseconds of older work.
    pub fn busy(mut self, time: u64) -> Self {
        self.older = time;
        self.done.set(self.host.get() + time);
        self
    }

    pub fn breaking(mut self, piece: usize, at_once: bool) -> Self {
        self.breaks = Some((piece, at_once));
        self
    }

    /// Older work has failed, and no wait has reported it yet.
    pub fn failed(self) -> Self {
        self.failed.set(true);
        self
    }

    /// The host launches the next piece.
    pub fn take(&self) -> Result<()> {
        let i = self.taken.get();
        self.taken.set(i + 1);
        self.host.set(self.host.get() + GIVING);
        let cost = self.costs.get(i).copied().unwrap_or(0);
        self.done.set(self.done.get().max(self.host.get()) + cost);
        if let Some((piece, at_once)) = self.breaks
            && piece == i + 1
        {
            if at_once {
                bail!("{}", Self::AT_ONCE);
            }
            self.failed.set(true);
        }
        Ok(())
    }

    /// How often the clock was read.
    pub fn readings(&self) -> usize {
        self.readings.get()
    }

    pub fn taken(&self) -> usize {
        self.taken.get()
    }

    /// The time of piece `i` by itself: giving it, doing it, noticing that it is done.
    pub fn whole(&self, i: usize) -> u64 {
        GIVING + self.costs[i] + NOTICING
    }

    pub fn shown(&self, warm_up: usize, runs: usize) -> String {
        let costs: Vec<String> = self.costs.iter().map(u64::to_string).collect();
        let older = match self.older {
            0 => String::new(),
            ns => format!("; the device is busy with older work for {ns} ns"),
        };
        format!(
            "warm_up {warm_up}, runs {runs}; the device takes {} ns, the host {GIVING} ns to launch it and {NOTICING} ns to notice its end{older}",
            costs.join(", ")
        )
    }
}

impl Stream for Device {
    fn now(&self) -> u64 {
        self.readings.set(self.readings.get() + 1);
        self.host.get()
    }

    fn wait(&self) -> Result<()> {
        self.host.set(self.host.get().max(self.done.get()) + NOTICING);
        if self.failed.replace(false) {
            bail!("{}", Self::AT_A_WAIT);
        }
        Ok(())
    }
}
