//! The roofline: the maximum performance of a kernel (Williams, Waterman and Patterson 2009).

use serde::Serialize;

// ANCHOR: Machine
/// A machine's two limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Peak floating-point operations per second.
    pub flops: f64,
    /// Peak memory bandwidth, bytes per second.
    pub bytes: f64,
}
// ANCHOR_END: Machine

// ANCHOR: MatMul
/// A matrix product `[rows, inner] · [inner, columns]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MatMul {
    /// Rows of the left matrix and of the result.
    pub rows: usize,
    /// Columns of the left matrix, rows of the right one.
    pub inner: usize,
    /// Columns of the right matrix and of the result.
    pub columns: usize,
    /// Bytes per value: 4 for f32.
    pub width: usize,
}
// ANCHOR_END: MatMul

// ANCHOR: Roof
/// A kernel under the roofline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Roof {
    /// Floating-point operations; a multiplication and an addition are two.
    pub flops: f64,
    /// Bytes that must move: each matrix once.
    pub bytes: f64,
    /// Operations per byte.
    pub intensity: f64,
    /// Operations per second that the machine can reach at that intensity.
    pub attainable: f64,
    /// The minimum time, seconds.
    pub seconds: f64,
    /// Whether memory is the limit, and not arithmetic.
    pub memory_bound: bool,
}
// ANCHOR_END: Roof

/// The roofline of a matrix product: 2·rows·inner·columns operations; both factors read once and the result written once.
pub fn matmul_roof(product: &MatMul, machine: &Machine) -> Roof {
    let [rows, inner, columns, width] =
        [product.rows, product.inner, product.columns, product.width].map(|n| n as f64);
    let flops = 2.0 * rows * inner * columns;
    let bytes = width * (rows * inner + inner * columns + rows * columns);
    let intensity = flops / bytes;
    let attainable = machine.flops.min(intensity * machine.bytes);
    Roof {
        flops,
        bytes,
        intensity,
        attainable,
        seconds: flops / attainable,
        memory_bound: intensity < machine.flops / machine.bytes,
    }
}
