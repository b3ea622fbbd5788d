//! The least time of a step: its arithmetic at the rate of a matrix product, or its traffic at the rate of a copy.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use rayon::prelude::*;
use serde::Serialize;

use super::{Options, work};
use crate::precision::Precision;
use crate::profile::{Machine, time_device};

/// Number of runs; the fastest one counts.
const RUNS: usize = 15;

/// The bound of a step, from rates that were measured in the same call.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bound {
    matmul_gflop_per_second: f64,
    copy_gb_per_second: f64,
    /// Of a whole batch.
    gflop: f64,
    gigabytes: f64,
    pub ms: f64,
}

impl Bound {
    /// Measures the rates, and prints the bound to standard error, before any step runs.
    pub fn measure(train: bool, options: &Options, device: &Device) -> Result<Self> {
        // On a CPU, other formats are emulated.
        let dtype = match options.precision {
            Precision::Bf16 if !device.is_cpu() => DType::BF16,
            Precision::Fp16 if !device.is_cpu() => DType::F16,
            _ => DType::F32,
        };
        // Turns tf32 on.
        options.precision.lowering(device);
        let machine = measured(device, dtype)?;
        let batch = options.batch as f64;
        let gflop = batch * work::gflop(options.model, options.points, options.classes, train);
        let bytes = work::gigabytes(options.model, options.points, train, dtype.size_in_bytes());
        let gigabytes = batch * bytes;
        let seconds = (1e9 * gflop / machine.flops).max(1e9 * gigabytes / machine.bytes);
        let bound = Self {
            matmul_gflop_per_second: machine.flops / 1e9,
            copy_gb_per_second: machine.bytes / 1e9,
            gflop,
            gigabytes,
            ms: 1e3 * seconds,
        };
        eprintln!("{bound}");
        Ok(bound)
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "bound {:.3} ms: {:.1} GFLOP at {:.0} GFLOP/s (matrix product), {:.3} GB at {:.0} GB/s (copy)",
            self.ms, self.gflop, self.matmul_gflop_per_second, self.gigabytes, self.copy_gb_per_second
        )
    }
}

/// Measures a large product of `dtype` for the arithmetic, and a large copy for the memory: each byte is read once and
/// written once.
fn measured(device: &Device, dtype: DType) -> Result<Machine> {
    let n = if device.is_cpu() { 1536 } else { 8192 };
    let left = Tensor::ones((n, n), dtype, device)?;
    let times = time_device(device, 1, RUNS, &mut || left.matmul(&left).map(drop))?;
    Ok(Machine {
        flops: 2.0 * (n as f64).powi(3) / best(&times),
        bytes: copied_bytes(device)?,
    })
}

/// Bytes per second of a large copy, reading and writing counted.
fn copied_bytes(device: &Device) -> Result<f64> {
    if !device.is_cpu() {
        let from = Tensor::ones(1 << 28, DType::F32, device)?;
        let times = time_device(device, 1, RUNS, &mut || from.copy().map(drop))?;
        return Ok(2.0 * 4.0 * from.elem_count() as f64 / best(&times));
    }
    // 256 MiB: larger than any cache.
    let from = vec![1f32; 1 << 26];
    let mut to = vec![0f32; 1 << 26];
    let times = time_device(&Device::Cpu, 1, RUNS, &mut || {
        to.par_chunks_mut(1 << 18)
            .zip(from.par_chunks(1 << 18))
            .for_each(|(to, from)| to.copy_from_slice(from));
        Ok(())
    })?;
    Ok(2.0 * 4.0 * from.len() as f64 / best(&times))
}

fn best(times: &[u64]) -> f64 {
    times.iter().copied().min().unwrap_or(1).max(1) as f64 / 1e9
}
