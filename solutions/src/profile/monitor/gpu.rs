//! NVIDIA GPUs, through the driver's library (NVML), which is loaded at run time.

use anyhow::{Context, Result, anyhow, ensure};
use nvml_wrapper::{
    Nvml,
    enum_wrappers::device::{Clock, TemperatureSensor},
};

use super::Sample;

/// Opens the driver's library.
pub fn open() -> Result<Nvml> {
    // Each error of the chain repeats its source.
    let nvml = Nvml::init().map_err(|e| {
        let e = anyhow::Error::new(e);
        anyhow!("the NVIDIA driver is not available: {}", e.root_cause())
    })?;
    let count = nvml
        .device_count()
        .context("the NVIDIA driver does not report its GPUs")?;
    ensure!(count > 0, "the NVIDIA driver reports no GPU");
    Ok(nvml)
}

/// A sample of each GPU. Values that a GPU does not report (a MIG slice does not report its utilisation) stay absent.
pub fn samples(nvml: &Nvml, base: &Sample) -> Vec<Sample> {
    let mib = |bytes: u64| (bytes as f64 / f64::from(1 << 20)).round();
    let gpus = (0..nvml.device_count().unwrap_or(0)).filter_map(|i| nvml.device_by_index(i).ok());
    let sample = |gpu: nvml_wrapper::Device| {
        let memory = gpu.memory_info().ok();
        let rates = gpu.utilization_rates().ok();
        Sample {
            bus_id: gpu.pci_info().map(|p| p.bus_id).unwrap_or_default(),
            name: gpu.name().unwrap_or_default(),
            use_percent: rates.as_ref().map(|u| f64::from(u.gpu)),
            memory_use_percent: rates.as_ref().map(|u| f64::from(u.memory)),
            memory_used_mib: memory.as_ref().map(|m| mib(m.used)),
            memory_total_mib: memory.as_ref().map(|m| mib(m.total)),
            power_w: gpu.power_usage().ok().map(|mw| f64::from(mw) / 1000.0),
            clock_mhz: gpu.clock_info(Clock::SM).ok().map(f64::from),
            memory_clock_mhz: gpu.clock_info(Clock::Memory).ok().map(f64::from),
            temperature_c: gpu.temperature(TemperatureSensor::Gpu).ok().map(f64::from),
            ..base.clone()
        }
    };
    gpus.map(sample).collect()
}
