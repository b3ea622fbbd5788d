//! The arithmetic and the memory traffic of a step, and the matrix product throughput of this machine.

use std::time::Instant;

use anyhow::Result;
use candle_core::{DType, Device, Tensor};

use crate::model::Kind;

/// Returns the GFLOP per cloud (a multiply-add counts as two). In training a layer costs three times its matrix product:
/// the forward pass and two gradients. A layer under the max costs one product and twice the covariance of its input (the
/// closed form in `kernels`).
pub fn gflop(kind: Kind, points: usize, classes: usize, train: bool) -> f64 {
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
pub fn gigabytes(kind: Kind, points: usize, train: bool, width: usize) -> f64 {
    let stored = match kind {
        Kind::Vanilla => 64 + 64 + 64 + 128,
        // Both T-Nets' layers, and the points and features that they transform.
        Kind::Full => (64 + 64 + 64 + 128) + 2 * (64 + 128) + 3 + 64,
    };
    let times = if train { 5 } else { 2 };
    1e-9 * (points * stored * times * width) as f64
}

/// Returns the GFLOP/s of candle's matrix product 32,768 × 128 × 1,024 in f32, the best of five.
pub fn matmul_ceiling(device: &Device) -> Result<f64> {
    let (m, k, n) = (32_768, 128, 1024);
    let a = Tensor::ones((m, k), DType::F32, device)?;
    let b = Tensor::ones((k, n), DType::F32, device)?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        let _product = a.matmul(&b)?;
        device.synchronize()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(2e-9 * (m * k * n) as f64 / best)
}
