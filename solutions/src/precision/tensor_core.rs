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

/// How well tensor cores take a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorCores {
    /// Whether they take the format at all: all but fp32.
    pub served: bool,
    /// The product with each side padded to whole pieces of 16 bytes: what they multiply, were it not for tiles.
    pub padded: Product,
    /// Whether every side is at least 128, so that multiplying takes longer than reading.
    pub worth: bool,
}

/// What tensor cores make of a product of `format` (NVIDIA, "Matrix multiplication background", sections 3 and 4): each
/// row in whole 16-byte pieces, so sides in multiples of 8 numbers of 16 bits, and no side under 128.
pub fn tensor_cores(product: Product, format: Format) -> TensorCores {
    // fp32 products take tensor cores as tf32, four bytes each.
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

/// Why a product of `format` does badly on tensor cores, in words; empty where it does well.
pub fn eligibility(product: Product, format: Format) -> Vec<String> {
    let found = tensor_cores(product, format);
    let of = |p: Product| [("m", p.m), ("n", p.n), ("k", p.k)];
    let mut reasons = Vec::new();
    if !found.served {
        reasons.push("fp32 is multiplied by ordinary cores: allow tf32, or take 16 bits".into());
    }
    for ((name, size), (_, padded)) in of(product).into_iter().zip(of(found.padded)) {
        if size != padded {
            reasons.push(format!(
                "{name} = {size} is no whole number of 16-byte pieces: pad it to {padded}"
            ));
        }
    }
    for (name, size) in of(product) {
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
                .any(|r| r.contains("k = 3 is no whole number of 16-byte pieces: pad it to 8")),
            "{reasons:?}"
        );
        assert_eq!(reasons.len(), 3, "{reasons:?}");
    }

    #[test]
    fn sides_are_padded_and_the_shortest_decides() {
        let of = |m, n, k, format| tensor_cores(Product { m, n, k }, format);
        let found = of(131, 128, 129, FP8_E4M3);
        assert_eq!((found.padded.m, found.padded.n, found.padded.k), (144, 128, 144));
        assert!(found.worth && found.served);
        assert!(!of(128, 127, 128, BF16).worth && !of(128, 128, 128, FP32).served);
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
