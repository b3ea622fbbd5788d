//! What a parameter costs while a network trains.

use super::Format;

/// Bytes that one parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesPerParameter {
    /// The weight that the forward pass reads.
    pub weight: u32,
    /// Its gradient.
    pub gradient: u32,
    /// The fp32 copy that the optimizer changes, where the weight is of a lower format.
    pub master: u32,
    /// The optimizer's own numbers: two fp32 for Adam, one for momentum, none for plain SGD.
    pub optimizer: u32,
}

impl BytesPerParameter {
    /// All of it.
    pub fn total(self) -> u32 {
        self.weight + self.gradient + self.master + self.optimizer
    }
}

/// With weights and gradients of `format`, and an optimizer that keeps `moments` fp32 numbers a parameter
/// (Rajbhandari et al. 2020, "ZeRO", section 3.1: 16 bytes with Adam, in fp32 and in mixed precision alike).
pub fn bytes_per_parameter(format: Format, moments: u32) -> BytesPerParameter {
    // tf32 is a way to multiply, not to store.
    let stored = if format.bits() > 16 {
        4
    } else {
        format.bits().div_ceil(8)
    };
    BytesPerParameter {
        weight: stored,
        gradient: stored,
        master: if stored < 4 { 4 } else { 0 },
        optimizer: 4 * moments,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BF16, FP8_E4M3, FP16, FP32, TF32};
    use super::*;

    #[test]
    fn adam_takes_sixteen_bytes_in_fp32_and_in_mixed_precision() {
        for format in [FP32, TF32, FP16, BF16] {
            assert_eq!(bytes_per_parameter(format, 2).total(), 16, "{}", format.name);
        }
        assert_eq!(bytes_per_parameter(FP8_E4M3, 2).total(), 14);
        assert_eq!(bytes_per_parameter(FP32, 0).total(), 8);
    }
}
