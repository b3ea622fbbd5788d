//! The least time of a step: its arithmetic at the rate of a matrix product, or its traffic at the rate of a copy.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::Options;
use crate::{model::Kind, precision::Precision, profile::time_device};

/// Number of timed runs.
const RUNS: usize = 15;

/// Measures the rates, before any step runs. Returns them and the bound.
pub fn measure(train: bool, options: &Options, device: &Device) -> Result<Value> {
    // On a CPU, other formats are emulated.
    let dtype = match options.precision {
        Precision::Bf16 if !device.is_cpu() => DType::BF16,
        Precision::Fp16 if !device.is_cpu() => DType::F16,
        _ => DType::F32,
    };
    // Turns tf32 on.
    options.precision.lowering(device);
    let flops = product_flops(if device.is_cpu() { 1536 } else { 8192 }, dtype, device)?;
    let bytes = copied_bytes(device)?;
    let batch = options.batch as f64;
    let gflop = batch * gflop(options.model, options.points, options.classes, train);
    let gigabytes = batch * gigabytes(options.model, options.points, train, dtype.size_in_bytes());
    Ok(json!({
        "matmul_gflop_per_second": flops / 1e9,
        "copy_gb_per_second": bytes / 1e9,
        // Of a whole batch.
        "gflop": gflop,
        "gigabytes": gigabytes,
        "ms": 1e12 * (gflop / flops).max(gigabytes / bytes),
    }))
}

/// Operations per second of candle's product of two matrices of `n × n`.
fn product_flops(n: usize, dtype: DType, device: &Device) -> Result<f64> {
    let matrix = Tensor::ones((n, n), dtype, device)?;
    let seconds = fastest(device, &mut || matrix.matmul(&matrix).map(drop))?;
    Ok(2.0 * (n as f64).powi(3) / seconds)
}

/// Bytes per second of a large copy: each byte is read once and written once.
fn copied_bytes(device: &Device) -> Result<f64> {
    if !device.is_cpu() {
        let from = Tensor::ones(1 << 28, DType::F32, device)?;
        let seconds = fastest(device, &mut || from.copy().map(drop))?;
        return Ok(2.0 * 4.0 * from.elem_count() as f64 / seconds);
    }
    // 256 MiB: larger than any cache.
    let from = vec![1f32; 1 << 26];
    let mut to = vec![0f32; 1 << 26];
    let seconds = fastest(device, &mut || {
        let pieces = to.par_chunks_mut(1 << 18).zip(from.par_chunks(1 << 18));
        pieces.for_each(|(to, from)| to.copy_from_slice(from));
        Ok(())
    })?;
    Ok(2.0 * 4.0 * from.len() as f64 / seconds)
}

/// Seconds of the fastest run.
fn fastest(device: &Device, work: &mut dyn FnMut() -> candle_core::Result<()>) -> Result<f64> {
    let times = time_device(device, 1, RUNS, work)?;
    Ok(times.into_iter().min().unwrap_or(1).max(1) as f64 / 1e9)
}

/// Returns the GFLOP per cloud (a multiply-add counts as two). In training a layer costs three times its matrix product:
/// the forward pass and two gradients. A layer under the max costs one product and twice the covariance of its input (the
/// closed form in `kernels`).
fn gflop(kind: Kind, points: usize, classes: usize, train: bool) -> f64 {
    let times = if train { 3.0 } else { 1.0 };
    let product = |widths: &[usize]| widths.windows(2).map(|w| (w[0] * w[1]) as f64).sum::<f64>();
    let wide = 128.0 * 1024.0 + if train { 2.0 * 128.0 * 128.0 } else { 0.0 };
    // `over`: widths of the layers over points. `head`: widths of the layers over clouds.
    let branch = |over: &[usize], head: &[usize]| {
        points as f64 * (times * product(over) + wide) + times * product(head)
    };
    let head = [1024, 512, 256, classes];
    let macs = match kind {
        Kind::Vanilla => branch(&[3, 64, 64, 64, 128], &head),
        Kind::Full => {
            let transforms = points as f64 * times * (9 + 64 * 64) as f64;
            branch(&[3, 64, 128], &[1024, 512, 256, 9])
                + branch(&[64, 64, 128], &[1024, 512, 256, 4096])
                + branch(&[3, 64, 64, 64, 128], &head)
                + transforms
        }
    };
    2e-9 * macs
}

/// Returns the GB per cloud that a step moves at least: each activation that is stored, `width` bytes per value, is written and
/// read once; in training, the backward pass reads it again, and writes and reads its gradient. The widest layers' outputs are
/// not stored.
fn gigabytes(kind: Kind, points: usize, train: bool, width: usize) -> f64 {
    let stored = match kind {
        Kind::Vanilla => 64 + 64 + 64 + 128,
        // Both T-Nets' layers, and the points and features that they transform.
        Kind::Full => (64 + 64 + 64 + 128) + 2 * (64 + 128) + 3 + 64,
    };
    let times = if train { 5 } else { 2 };
    1e-9 * (points * stored * times * width) as f64
}
