//! NVIDIA cards, by the driver's own library (NVML), which is loaded at run time.

use anyhow::{Context, Result, anyhow, ensure};
use nvml_wrapper::{
    Device, Nvml,
    enum_wrappers::device::{Clock, TemperatureSensor},
};

use super::Sample;

/// All cards of the machine.
pub struct Gpus {
    nvml: Nvml,
    count: u32,
}

impl Gpus {
    pub fn new() -> Result<Self> {
        let nvml = Nvml::init().map_err(|e| {
            // Each error of the chain says again what its source says.
            let e = anyhow::Error::new(e);
            anyhow!("no NVIDIA driver answers: {}", e.root_cause())
        })?;
        let count = nvml
            .device_count()
            .context("the NVIDIA driver tells of no card")?;
        ensure!(count > 0, "the NVIDIA driver has no card");
        Ok(Self { nvml, count })
    }

    pub fn look(&self, base: &Sample) -> Vec<Sample> {
        let cards = (0..self.count).filter_map(|i| self.nvml.device_by_index(i).ok());
        cards.map(|card| of_card(&card, base)).collect()
    }
}

/// What a card refuses to tell (a slice of a card tells no use) stays absent.
fn of_card(card: &Device, base: &Sample) -> Sample {
    let mib = |bytes: u64| (bytes as f64 / f64::from(1 << 20)).round();
    let memory = card.memory_info().ok();
    Sample {
        bus_id: card.pci_info().map(|p| p.bus_id).unwrap_or_default(),
        name: card.name().unwrap_or_default(),
        use_percent: card.utilization_rates().ok().map(|u| f64::from(u.gpu)),
        memory_used_mib: memory.as_ref().map(|m| mib(m.used)),
        memory_total_mib: memory.as_ref().map(|m| mib(m.total)),
        power_w: card.power_usage().ok().map(|mw| f64::from(mw) / 1000.0),
        clock_mhz: card.clock_info(Clock::SM).ok().map(f64::from),
        memory_clock_mhz: card.clock_info(Clock::Memory).ok().map(f64::from),
        temperature_c: card.temperature(TemperatureSensor::Gpu).ok().map(f64::from),
        ..base.clone()
    }
}
