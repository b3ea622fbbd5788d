//! Whether a matrix product runs efficiently on tensor cores.

use super::Format;

// ANCHOR: Product
/// A matrix product [m, k] × [k, n].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Rows of the left matrix: batch × points.
    pub m: usize,
    /// Columns of the right one: channels out.
    pub n: usize,
    /// The dimension that is summed over: channels in.
    pub k: usize,
}
// ANCHOR_END: Product

// ANCHOR: TensorCores
/// How well a product suits tensor cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorCores {
    /// Whether tensor cores support the format: all except fp32.
    pub served: bool,
    /// The product with each dimension padded to a multiple of 16 bytes.
    pub padded: Product,
    /// Whether every dimension is at least 128, so that the product is compute-bound.
    pub worth: bool,
}
// ANCHOR_END: TensorCores

/// Returns how well a product in `format` suits tensor cores (NVIDIA, "Matrix multiplication background", sections 3 and
/// 4): dimensions should be multiples of 16 bytes (8 numbers of 16 bits) and at least 128.
pub fn tensor_cores(product: Product, format: Format) -> TensorCores {
    // fp32 products use tensor cores as tf32, with four bytes per number.
    let bytes = match format.bits() {
        17.. => 4,
        bits => bits.div_ceil(8) as usize,
    };
    let whole = |side: usize| side.next_multiple_of(16 / bytes);
    let Product { m, n, k } = product;
    TensorCores {
        served: format.bits() < 32,
        padded: Product {
            m: whole(m),
            n: whole(n),
            k: whole(k),
        },
        worth: m.min(n).min(k) >= 128,
    }
}
