//! Memory per parameter during training.

use super::Format;

// ANCHOR: BytesPerParameter
/// Bytes per parameter, by purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesPerParameter {
    /// The weight that the forward pass reads.
    pub weight: u32,
    /// Its gradient.
    pub gradient: u32,
    /// The fp32 master weight; 0 if the weight itself is stored in 4 bytes, as in fp32 and tf32.
    pub master: u32,
    /// The optimizer's state: two fp32 numbers for Adam, one for momentum, none for plain SGD.
    pub optimizer: u32,
}
// ANCHOR_END: BytesPerParameter

impl BytesPerParameter {
    /// Returns the total.
    pub fn total(self) -> u32 {
        self.weight + self.gradient + self.master + self.optimizer
    }
}

/// Returns the bytes per parameter with weights and gradients in `format`, and an optimizer that keeps `moments` fp32
/// numbers per parameter (Rajbhandari et al. 2020, "ZeRO", section 3.1: 16 bytes with Adam, both in fp32 and in mixed
/// precision).
pub fn bytes_per_parameter(format: Format, moments: u32) -> BytesPerParameter {
    // tf32 is a format of products; tensors are stored in fp32.
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
