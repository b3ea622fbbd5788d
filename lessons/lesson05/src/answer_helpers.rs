//! Right answers with switches, from which the known mistakes are built: each switch turns on one mistake.

mod adding;
mod naming;
mod reading;

pub use adding::*;
pub use naming::*;
pub use reading::*;

use canopy::profile::{Machine, MatMul, Roof};

/// The roofline by counts of operations and numbers.
pub fn roof_by(
    product: &MatMul,
    machine: &Machine,
    count: impl Fn([f64; 3]) -> (f64, f64),
    below: impl Fn(f64, f64) -> bool,
) -> Roof {
    let [rows, inner, columns, width] =
        [product.rows, product.inner, product.columns, product.width].map(|n| n as f64);
    let (flops, numbers) = count([rows, inner, columns]);
    roof_of(flops, numbers * width, machine, below)
}

/// The roofline of so many operations and bytes.
pub fn roof_of(flops: f64, bytes: f64, machine: &Machine, below: impl Fn(f64, f64) -> bool) -> Roof {
    let seconds = (bytes / machine.bytes).max(flops / machine.flops);
    Roof {
        flops,
        bytes,
        intensity: flops / bytes,
        attainable: flops / seconds,
        seconds,
        memory_bound: below(flops / bytes, machine.flops / machine.bytes),
    }
}

/// Operations, and the numbers of all three matrices.
pub fn counts([rows, inner, columns]: [f64; 3]) -> (f64, f64) {
    (
        2.0 * rows * inner * columns,
        rows * inner + inner * columns + rows * columns,
    )
}
