//! PointNet's layers under the roofline of this machine.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy::profile::{Machine, MatMul};
use kit::table::{Table, fixed, json, left, percent};
use lesson05::Lesson05;
use rayon::prelude::*;

/// PointNet's shared layers (vanilla), inputs and outputs, each size once.
const LAYERS: [(usize, usize); 4] = [(3, 64), (64, 64), (64, 128), (128, 1024)];
/// Points of 64 clouds of 1,024.
const ROWS: usize = 64 * 1024;

/// Measures the machine: a large product, and a large copy.
pub fn machine(answer: &Lesson05) -> Result<Machine> {
    let flops = 2.0 * 1024f64.powi(3) / seconds(answer, 1024, 1024, 1024)?;
    // Reads 128 MiB and writes 128 MiB, more than a cache holds.
    let from = vec![1f32; 1 << 25];
    let mut to = vec![0f32; 1 << 25];
    let copy = best(answer, &mut || {
        let pieces = to.par_chunks_mut(1 << 20).zip(from.par_chunks(1 << 20));
        pieces.for_each(|(to, from)| to.copy_from_slice(from));
        Ok(())
    })?;
    let bytes = 8.0 * from.len() as f64 / copy;
    Ok(Machine { flops, bytes })
}

/// Measures each layer.
pub fn layers(answer: &Lesson05, machine: &Machine) -> Result<Table> {
    let mut table = Table::new([
        left("layer"),
        fixed("FLOP/byte", 1),
        fixed("allowed", 1),
        fixed("reached", 1),
        percent("share", 0),
        left("limit"),
    ]);
    for (inner, columns) in LAYERS {
        let product = MatMul {
            rows: ROWS,
            inner,
            columns,
            width: 4,
        };
        let roof = (answer.matmul_roof)(&product, machine);
        let reached = roof.flops / seconds(answer, ROWS, inner, columns)?;
        table.row(json!([
            format!("{inner} → {columns}"),
            roof.intensity,
            roof.attainable / 1e9,
            reached / 1e9,
            reached / roof.attainable,
            if roof.memory_bound { "memory" } else { "arithmetic" }
        ]));
    }
    Ok(table)
}

fn seconds(answer: &Lesson05, rows: usize, inner: usize, columns: usize) -> Result<f64> {
    let ones = |rows, columns| Tensor::ones((rows, columns), DType::F32, &Device::Cpu);
    let (left, right) = (ones(rows, inner)?, ones(inner, columns)?);
    best(answer, &mut || left.matmul(&right).map(drop))
}

/// Seconds of the fastest of nine runs.
fn best(answer: &Lesson05, work: lesson05::Work) -> Result<f64> {
    let times = (answer.time_device)(&Device::Cpu, 2, 9, work)?;
    Ok(times.into_iter().min().unwrap_or(0).max(1) as f64 / 1e9)
}
