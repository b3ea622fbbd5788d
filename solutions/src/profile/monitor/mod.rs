//! Utilisation of the machine: of each NVIDIA GPU by its driver, and of the CPU by the operating system.

mod cpu;
mod gpu;
mod log;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use jiff::Timestamp;
use nvml_wrapper::Nvml;
use serde::{Deserialize, Serialize};

pub use log::{Background, Log, kilowatt_hours};

/// One sample of one device. Values that the device does not report are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Time, UTC: `2026-11-21T10:00:00.123Z`.
    pub timestamp: String,
    /// Seconds since monitoring started.
    pub seconds: f64,
    /// The GPU's PCI bus id; `cpu` for the CPU.
    pub bus_id: String,
    /// Its name.
    pub name: String,
    /// Utilisation since the last sample, per cent.
    pub use_percent: Option<f64>,
    /// Time during which the GPU's memory was read or written, per cent. It says nothing about how full the memory is.
    pub memory_use_percent: Option<f64>,
    /// Memory in use, MiB.
    pub memory_used_mib: Option<f64>,
    /// Total memory, MiB.
    pub memory_total_mib: Option<f64>,
    /// Power, watts.
    pub power_w: Option<f64>,
    /// Clock of the GPU's multiprocessors.
    pub clock_mhz: Option<f64>,
    /// Clock of its memory.
    pub memory_clock_mhz: Option<f64>,
    /// Temperature, degrees Celsius.
    pub temperature_c: Option<f64>,
}

/// Takes samples of all devices.
pub struct Watch {
    began: Instant,
    gpus: Option<Nvml>,
    /// Why no GPU can be monitored.
    pub no_gpu: Option<String>,
    cpu: Option<cpu::Cpu>,
}

impl Watch {
    /// Loads the NVIDIA driver's library, if there is one.
    ///
    /// # Errors
    /// Returns an error if there is nothing to monitor.
    pub fn new() -> Result<Self> {
        let (gpus, no_gpu) = match gpu::open() {
            Ok(gpus) => (Some(gpus), None),
            Err(e) => (None, Some(format!("{e:#}"))),
        };
        let cpu = cpu::Cpu::new().ok();
        ensure!(
            gpus.is_some() || cpu.is_some(),
            "nothing to monitor: {}; and CPU utilisation is available on Linux only (/proc)",
            no_gpu.unwrap_or_default()
        );
        Ok(Self {
            began: Instant::now(),
            gpus,
            no_gpu,
            cpu,
        })
    }

    /// A sample of each device: the GPUs first, then the CPU.
    pub fn sample(&mut self) -> Vec<Sample> {
        let base = Sample {
            timestamp: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            seconds: (self.began.elapsed().as_secs_f64() * 1e3).round() / 1e3,
            ..Sample::default()
        };
        let mut samples = self
            .gpus
            .as_ref()
            .map(|g| gpu::samples(g, &base))
            .unwrap_or_default();
        samples.extend(self.cpu.as_mut().and_then(|cpu| cpu.sample(&base).ok()));
        samples
    }
}

/// Sleeps until `next`, or until `stop` is set.
pub fn pause(next: Instant, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) && Instant::now() < next {
        let left = next.saturating_duration_since(Instant::now());
        thread::sleep(left.min(Duration::from_millis(50)));
    }
}
