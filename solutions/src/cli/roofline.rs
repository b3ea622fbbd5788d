//! `canopy profile --roofline`: this machine's roofline, and PointNet's layers under it.

use std::{path::Path, process::ExitCode};

use anyhow::{Context, Result};
use candle_core::{DType, Device, Tensor};
use canopy_data::atomic;
use rayon::prelude::*;
use serde_json::json;

use crate::{
    profile::{Machine, MatMul, Roof, matmul_roof, time_device},
    report::profiled::roofline_plot,
};

/// The vanilla PointNet's shared layers, inputs to outputs, each shape once.
const LAYERS: [(usize, usize); 4] = [(3, 64), (64, 64), (64, 128), (128, 1024)];
/// Points in a batch: 32 clouds of 1,024.
const ROWS: usize = 32 * 1024;
/// Number of runs; the fastest one counts.
const RUNS: usize = 15;

/// Measures on the CPU, prints a table and, with `out`, draws `roofline.svg`.
///
/// # Errors
/// Returns candle's errors, and an error if a file cannot be written.
pub fn run(out: Option<&Path>, as_json: bool) -> Result<ExitCode> {
    let mut machine = measure(&Device::Cpu, DType::F32)?;
    let mut measured = Vec::new();
    for (inner, columns) in LAYERS {
        let product = MatMul {
            rows: ROWS,
            inner,
            columns,
            width: 4,
        };
        let seconds = product_seconds(&product, &Device::Cpu, DType::F32)?;
        let reached = 2.0 * (ROWS * inner * columns) as f64 / seconds;
        let bytes = 4.0 * (ROWS * (inner + columns) + inner * columns) as f64;
        // No product is faster than the roofline. If one is, the roofline was measured too low.
        machine.flops = machine.flops.max(reached);
        machine.bytes = machine.bytes.max(bytes / seconds);
        measured.push((product, reached));
    }
    let kernels: Vec<(String, Roof, f64)> = measured
        .into_iter()
        .map(|(p, reached)| {
            let name = format!("{} → {}", p.inner, p.columns);
            (name, matmul_roof(&p, &machine), reached)
        })
        .collect();
    if as_json {
        let row = |(name, roof, reached): &(String, Roof, f64)| json!({ "layer": name, "roof": roof, "reached": reached });
        let rows: Vec<_> = kernels.iter().map(row).collect();
        say!(
            "{:#}",
            json!({ "machine": machine, "ridge": machine.ridge(), "layers": rows })
        );
    } else {
        say!(
            "arithmetic {:.0} GFLOP/s (matrix product in f32), memory {:.1} GB/s (copy), ridge at {:.1} operations per byte, {} threads\n",
            machine.flops / 1e9,
            machine.bytes / 1e9,
            machine.ridge(),
            rayon::current_num_threads()
        );
        say!("layer            FLOP/byte       allowed       reached     share  limit");
        for (name, roof, reached) in &kernels {
            say!(
                "{name:<14}{:>12.1}{:>14.1}{:>14.1}{:>8.0} %  {}",
                roof.intensity,
                roof.attainable / 1e9,
                reached / 1e9,
                100.0 * reached / roof.attainable,
                if roof.memory_bound { "memory" } else { "arithmetic" }
            );
        }
    }
    if let Some(out) = out {
        std::fs::create_dir_all(out)
            .with_context(|| format!("the folder {} cannot be created", out.display()))?;
        let path = out.join("roofline.svg");
        atomic::write(&path, roofline_plot(&machine, &kernels).svg().as_bytes())?;
        eprintln!("written: {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures a large product of `dtype` for the arithmetic, and a large copy for the memory: each byte is read once and
/// written once.
pub fn measure(device: &Device, dtype: DType) -> Result<Machine> {
    let n = if device.is_cpu() { 1536 } else { 8192 };
    let large = MatMul {
        rows: n,
        inner: n,
        columns: n,
        width: 4,
    };
    let flops = 2.0 * (n as f64).powi(3) / product_seconds(&large, device, dtype)?;
    Ok(Machine {
        flops,
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

/// Seconds of candle's matrix product.
fn product_seconds(product: &MatMul, device: &Device, dtype: DType) -> Result<f64> {
    let make = |rows, columns| Tensor::ones((rows, columns), dtype, device);
    let (left, right) = (
        make(product.rows, product.inner)?,
        make(product.inner, product.columns)?,
    );
    let times = time_device(device, 1, RUNS, &mut || left.matmul(&right).map(drop))?;
    Ok(best(&times))
}

fn best(times: &[u64]) -> f64 {
    times.iter().copied().min().unwrap_or(1).max(1) as f64 / 1e9
}
