//! The least time of a step: its arithmetic at the rate of a matrix product, or its traffic at the rate of a copy.

use anyhow::Result;
use candle_core::{DType, Device};
use serde::Serialize;

use super::{Options, work};
use crate::cli::roofline;
use crate::precision::Precision;

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
        let machine = roofline::measure(device, dtype)?;
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
