//! How busy the machine is: of each NVIDIA card what its driver says, and of the processor what the system says.

mod cpu;
mod gpu;
mod log;

use std::time::Instant;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

pub use log::{Background, Log, lines, pause};

/// A look at one device. What the device does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When, UTC: `2026-11-21T10:00:00.123Z`.
    pub timestamp: String,
    /// Seconds since watching began.
    pub seconds: f64,
    /// The card's PCI bus id; `cpu` for the processor.
    pub bus_id: String,
    /// Its name.
    pub name: String,
    /// Per cent of the time since the last look in which it was at work.
    pub use_percent: Option<f64>,
    /// Bytes of its memory in use, in MiB.
    pub memory_used_mib: Option<f64>,
    /// Of how many.
    pub memory_total_mib: Option<f64>,
    /// Watts.
    pub power_w: Option<f64>,
    /// Of the multiprocessors, or of the processor's cores on average.
    pub clock_mhz: Option<f64>,
    /// Of its memory.
    pub memory_clock_mhz: Option<f64>,
    /// Degrees Celsius.
    pub temperature_c: Option<f64>,
}

/// Looks at all devices, time and again.
pub struct Watch {
    began: Instant,
    gpus: Option<gpu::Gpus>,
    /// Why there are no cards to look at.
    pub no_gpu: Option<String>,
    cpu: Option<cpu::Cpu>,
}

impl Watch {
    /// Loads the NVIDIA driver's library, if there is one.
    ///
    /// # Errors
    /// There is nothing that could be watched.
    pub fn new() -> Result<Self> {
        let (gpus, no_gpu) = match gpu::Gpus::new() {
            Ok(gpus) => (Some(gpus), None),
            Err(e) => (None, Some(format!("{e:#}"))),
        };
        let cpu = cpu::Cpu::new().ok();
        ensure!(
            gpus.is_some() || cpu.is_some(),
            "nothing to watch: {}; and the processor's use is told by Linux only (/proc)",
            no_gpu.unwrap_or_default()
        );
        Ok(Self {
            began: Instant::now(),
            gpus,
            no_gpu,
            cpu,
        })
    }

    /// A look at each: the cards first, then the processor.
    pub fn look(&mut self) -> Vec<Sample> {
        let base = Sample {
            timestamp: now(),
            seconds: (self.began.elapsed().as_secs_f64() * 1e3).round() / 1e3,
            ..Sample::default()
        };
        let mut samples = self.gpus.as_ref().map(|g| g.look(&base)).unwrap_or_default();
        samples.extend(self.cpu.as_mut().and_then(|cpu| cpu.look(&base).ok()));
        samples
    }
}

/// `2026-11-21T10:00:00.123Z`.
fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_has_a_time_and_what_the_system_says() {
        let Ok(mut watch) = Watch::new() else {
            println!("not run, because this system tells nothing of its processor");
            return;
        };
        let samples = watch.look();
        let cpu = samples.iter().find(|s| s.bus_id == "cpu");
        let Some(cpu) = cpu else {
            println!("not run, because this system tells nothing of its processor");
            return;
        };
        assert!(cpu.memory_used_mib <= cpu.memory_total_mib && cpu.memory_total_mib > Some(1.0));
        let t = &cpu.timestamp;
        assert!(t.len() == 24 && t.ends_with('Z') && t.contains('T'), "{t}");
    }
}
