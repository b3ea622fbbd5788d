//! Whether a product can run on tensor cores, and whether it is worth it.

use super::Format;

/// A matrix product [m, k] × [k, n].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Rows of the left matrix: batch × points.
    pub m: usize,
    /// Columns of the right one: channels out.
    pub n: usize,
    /// What is summed over: channels in.
    pub k: usize,
}

/// Why a product of `format` does badly on tensor cores; empty where it does well. After NVIDIA's "Matrix
/// multiplication background": each row in whole 16-byte pieces, tiles of 64 or 128 full, no side too short to pay for
/// the launch.
pub fn eligibility(product: Product, format: Format) -> Vec<String> {
    let sides = [("m", product.m), ("n", product.n), ("k", product.k)];
    // fp32 products take tensor cores as tf32, four bytes each.
    let bytes = if format.bits() > 16 {
        4
    } else {
        format.bits().div_ceil(8)
    };
    let multiple = (16 / bytes) as usize;
    let mut reasons = Vec::new();
    if format.name == "fp32" {
        reasons.push("fp32 is multiplied by ordinary cores: allow tf32, or take 16 bits".into());
    }
    for (name, size) in sides {
        if size % multiple != 0 {
            let next = size.next_multiple_of(multiple);
            reasons.push(format!(
                "{name} = {size} is no multiple of {multiple}: pad it to {next}"
            ));
        }
    }
    for (name, size) in sides {
        if size < 128 {
            reasons.push(format!(
                "{name} = {size} is under 128: reading takes longer than multiplying"
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
    fn pointnets_widest_layer_is_eligible_and_its_first_is_not() {
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
                .any(|r| r.contains("k = 3 is no multiple of 8: pad it to 8")),
            "{reasons:?}"
        );
        assert_eq!(reasons.len(), 3, "{reasons:?}");
    }

    #[test]
    fn the_multiple_follows_the_bytes() {
        let of = |k| Product { m: 128, n: 128, k };
        assert!(eligibility(of(132), TF32).is_empty());
        assert_eq!(eligibility(of(132), BF16).len(), 1);
        assert_eq!(eligibility(of(136), BF16).len(), 0);
        assert_eq!(eligibility(of(136), FP8_E4M3).len(), 1);
        assert_eq!(eligibility(of(128), FP32).len(), 1);
    }
}
