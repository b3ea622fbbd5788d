//! PointNet's layers under the roofline of this machine.

use anyhow::Result;
use candle_core::{DType, Device, Tensor};
use canopy::profile::{Machine, MatMul, Roof};
use grader::{
    cells,
    table::{Table, fixed, left, percent},
};
use lesson05::Lesson05;

/// A layer, its roof, and the FLOP/s that it reached.
pub type Layer = (String, Roof, f64);

/// PointNet's shared layers (vanilla), inputs to outputs, without the one that is the same as another.
const LAYERS: [(usize, usize); 4] = [(3, 64), (64, 64), (64, 128), (128, 1024)];
/// Points of 64 clouds of 1,024.
const ROWS: usize = 64 * 1024;
/// How often each is measured; the best time counts.
const RUNS: usize = 9;

/// Measures the machine, then each layer, by the student's functions.
pub fn layers(answer: &Lesson05) -> Result<(Machine, Vec<Layer>)> {
    let large = MatMul {
        rows: 1024,
        inner: 1024,
        columns: 1024,
        width: 4,
    };
    let mut flops = 2.0 * 1024f64.powi(3) / seconds(answer, &large)?;
    let (mut reached, mut moved) = (Vec::new(), 0f64);
    for (inner, columns) in LAYERS {
        let time = seconds(answer, &layer(inner, columns))?;
        let rate = 2.0 * (ROWS * inner * columns) as f64 / time;
        reached.push(rate);
        // No product is faster than the roof: if one is, the roof was measured too low.
        flops = flops.max(rate);
        moved = moved.max(4.0 * (ROWS * (inner + columns) + inner * columns) as f64 / time);
    }
    // Reads 128 MiB and writes 128 MiB, more than a cache holds.
    let from = vec![1f32; 1 << 25];
    let mut to = vec![0f32; 1 << 25];
    let half = to.len() / 2;
    let times = (answer.time_device)(&Device::Cpu, 2, RUNS, &mut || {
        let (a, b) = to.split_at_mut(half);
        std::thread::scope(|scope| {
            scope.spawn(|| a.copy_from_slice(&from[..half]));
            b.copy_from_slice(&from[half..]);
        });
        Ok(())
    })?;
    let bytes = moved.max(8.0 * from.len() as f64 / best(&times));
    let machine = Machine { flops, bytes };
    let named = LAYERS.iter().zip(reached).map(|(&(inner, columns), reached)| {
        let roof = (answer.matmul_roof)(&layer(inner, columns), &machine);
        (format!("{inner} → {columns}"), roof, reached)
    });
    Ok((machine, named.collect()))
}

fn layer(inner: usize, columns: usize) -> MatMul {
    MatMul {
        rows: ROWS,
        inner,
        columns,
        width: 4,
    }
}

fn seconds(answer: &Lesson05, product: &MatMul) -> Result<f64> {
    let make = |rows, columns| Tensor::ones((rows, columns), DType::F32, &Device::Cpu);
    let (left, right) = (
        make(product.rows, product.inner)?,
        make(product.inner, product.columns)?,
    );
    let times = (answer.time_device)(&Device::Cpu, 2, RUNS, &mut || left.matmul(&right).map(drop))?;
    Ok(best(&times))
}

fn best(times: &[u64]) -> f64 {
    times.iter().copied().min().unwrap_or(1).max(1) as f64 / 1e9
}

pub fn table(layers: &[Layer]) -> Table {
    let mut table = Table::new([
        left("layer"),
        fixed("FLOP/byte", 1),
        fixed("allowed", 1),
        fixed("reached", 1),
        percent("share", 0),
        left("limit"),
    ]);
    for (name, roof, reached) in layers {
        table.row(cells![
            name,
            roof.intensity,
            roof.attainable / 1e9,
            reached / 1e9,
            reached / roof.attainable,
            if roof.memory_bound { "memory" } else { "arithmetic" }
        ]);
    }
    table
}
