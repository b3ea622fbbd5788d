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
        served: format.name != "fp32",
        padded: Product {
            m: whole(m),
            n: whole(n),
            k: whole(k),
        },
        worth: m.min(n).min(k) >= 128,
    }
}

/// Returns the reasons why a product in `format` is inefficient on tensor cores; empty if it is efficient.
pub fn eligibility(product: Product, format: Format) -> Vec<String> {
    let result = tensor_cores(product, format);
    let of = |p: Product| [("m", p.m), ("n", p.n), ("k", p.k)];
    let mut reasons = Vec::new();
    if !result.served {
        reasons.push("tensor cores do not support fp32: allow tf32, or use a 16-bit format".into());
    }
    for ((name, size), (_, padded)) in of(product).into_iter().zip(of(result.padded)) {
        if size != padded {
            reasons.push(format!(
                "{name} = {size} is not a multiple of 16 bytes: pad it to {padded}"
            ));
        }
    }
    for (name, size) in of(product) {
        if size < 128 {
            reasons.push(format!(
                "{name} = {size} is below 128: the product is memory-bound"
            ));
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::super::{BF16, FP8_E4M3, FP32, TF32};
    use super::*;

    #[test]
    fn the_widest_layer_is_eligible_and_the_first_is_not() {
        let widest = Product {
            m: 32 * 1024,
            n: 1024,
            k: 128,
        };
        assert_eq!(eligibility(widest, BF16), [""; 0]);
        let first = Product {
            n: 64,
            k: 3,
            ..widest
        };
        let reasons = eligibility(first, BF16);
        assert!(
            reasons
                .iter()
                .any(|r| r.contains("k = 3 is not a multiple of 16 bytes: pad it to 8")),
            "{reasons:?}"
        );
        assert_eq!(reasons.len(), 3, "{reasons:?}");
    }

    #[test]
    fn dimensions_are_padded_and_the_smallest_decides() {
        let of = |m, n, k, format| tensor_cores(Product { m, n, k }, format);
        let result = of(131, 128, 129, FP8_E4M3);
        assert_eq!(
            (result.padded.m, result.padded.n, result.padded.k),
            (144, 128, 144)
        );
        assert!(result.worth && result.served);
        assert!(!of(128, 127, 128, BF16).worth && !of(128, 128, 128, FP32).served);
    }

    #[test]
    fn the_padding_depends_on_the_bytes_per_number() {
        let of = |k| Product { m: 128, n: 128, k };
        assert!(eligibility(of(132), TF32).is_empty());
        assert_eq!(eligibility(of(132), BF16).len(), 1);
        assert_eq!(eligibility(of(136), BF16).len(), 0);
        assert_eq!(eligibility(of(136), FP8_E4M3).len(), 1);
        assert_eq!(eligibility(of(128), FP32).len(), 1);
    }
}
