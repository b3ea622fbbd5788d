//! Known wrong answers to exercise 6.6.

use super::*;

pub const MISTAKES: &[Mistake<Lesson06>] = &[
    wrong!("6.6", stores_16_bits_in_2_bytes, "Weights in 16 bits need 2 bytes.",
        bytes_per_parameter: |f, n| BytesPerParameter { weight: 4, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "The gradient is stored in the format of the weights as well.",
        bytes_per_parameter: |f, n| BytesPerParameter { gradient: 4, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "These are bits; 8 bits are one byte.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { weight: 8 * right.weight, gradient: 8 * right.gradient, ..right }
    }),
    wrong!("6.6", stores_tf32_as_fp32, "tf32 has 19 bits, which are not stored as 3 bytes: it is only used for multiplication, and fp32 is stored, in 4 bytes.",
    bytes_per_parameter: |f, n| {
        let stored = f.bits().div_ceil(8);
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", stores_tf32_as_fp32, "tf32 has 19 bits, neither 32 nor 16, and falls through to 1 byte; fp32 is stored, in 4 bytes.",
    bytes_per_parameter: |f, n| {
        let stored = match f.bits() { 32 => 4, 16 => 2, _ => 1 };
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", stores_tf32_as_fp32, "tf32 is stored in 2 bytes, but it is only used for multiplication: fp32 is stored, in 4 bytes.",
    bytes_per_parameter: |f, n| {
        let stored = if f.mantissa <= 10 && f.bits() > 8 { 2 } else { f.bits().div_ceil(8).min(4) };
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", has_masters_only_in_low_precision, "An fp32 weight is its own master and needs no second copy.",
        bytes_per_parameter: |f, n| BytesPerParameter { master: 4, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", has_masters_only_in_low_precision, "The fp32 master of low-precision weights is missing.",
        bytes_per_parameter: |f, n| BytesPerParameter { master: 0, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", has_masters_only_in_low_precision, "A master in the format of the weights is useless; it is fp32, 4 bytes.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { master: if right.master > 0 { right.weight } else { 0 }, ..right }
    }),
    wrong!("6.6", stores_8_bits_in_1_byte, "8 bits are one byte; here every format below fp32 is treated as 16 bits.",
    bytes_per_parameter: |f, n| {
        let stored = if f.bits() > 16 { 4 } else { 2 };
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", counts_the_optimizer_state, "The optimizer's numbers are always fp32: 4 bytes each.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: right.weight * n, ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "Adam's 8 bytes are used for every optimizer; `moments` has the number of its values.",
        bytes_per_parameter: |f, n| BytesPerParameter { optimizer: 8, ..(REFERENCE.bytes_per_parameter)(f, n) }),
    wrong!("6.6", has_masters_only_in_low_precision, "Plain SGD has no numbers of its own (`moments` is 0), but low-precision weights still need a master.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { master: if n == 0 { 0 } else { right.master }, ..right }
    }),
    wrong!("6.6", has_masters_only_in_low_precision, "tf32 is stored as fp32 and needs no master.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { master: if f.bits() == 19 { 4 } else { right.master }, ..right }
    }),
    wrong!("6.6", has_masters_only_in_low_precision, "Only 16-bit weights have a master here; 8-bit weights need one as well.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { master: if right.weight == 2 { 4 } else { 0 }, ..right }
    }),
    wrong!("6.6", has_masters_only_in_low_precision, "The master of fp8 weights is fp32 as well, 4 bytes.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { master: if right.weight == 1 { 2 } else { right.master }, ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "Plain SGD keeps no numbers: 0 bytes.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: 4 * n.max(1), ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "`moments` may be any number: it is 4 bytes each, also for more than 2.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: if n > 2 { 0 } else { 4 * n }, ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "`moments` may be any number: it is 4 bytes each, also for more than 2.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: 4 * n.min(2), ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "The optimizer keeps fp32 numbers: 4 bytes each, not 1.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: n, ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "The optimizer keeps fp32 numbers of 4 bytes, not of 8.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: 8 * n, ..right }
    }),
    wrong!("6.6", counts_the_optimizer_state, "The master is counted with the optimizer as well; it has its own field.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { optimizer: right.optimizer + right.master, ..right }
    }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "The master is added to `weight`; it has its own field.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { weight: right.weight + right.master, master: 0, ..right }
    }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "Weight and gradient need 2 bytes in 16 bits, also in a format that saturates: compare `format.bits()`, not the format with a constant.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        if f.overflow != canopy::precision::Overflow::Saturate { return right; }
        BytesPerParameter { weight: 4, gradient: 4, master: 0, ..right }
    }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "Weight and gradient need 2 bytes in 16 bits.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        if f.bits() != 16 { return right; }
        BytesPerParameter { weight: 4, gradient: 4, master: 0, ..right }
    }),
    wrong!("6.6", stores_8_bits_in_1_byte, "fp8 is stored in 1 byte, not as fp32.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        if f.bits() != 8 { return right; }
        BytesPerParameter { weight: 4, gradient: 4, master: 0, ..right }
    }),
    wrong!("6.6", stores_8_bits_in_1_byte, "The gradient is stored in the format of the weights, also in fp8.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        if f.bits() != 8 { return right; }
        BytesPerParameter { gradient: 2, ..right }
    }),
    wrong!("6.6", stores_fp32_in_4_bytes, "fp32 is stored in 4 bytes.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        if f.bits() != 32 { return right; }
        BytesPerParameter { weight: 2, gradient: 2, master: 4, ..right }
    }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "Weight and gradient need 2 bytes in 16 bits, also in a format that saturates: compare `format.bits()`, not the format with a constant.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        if f.overflow != canopy::precision::Overflow::Saturate { return right; }
        BytesPerParameter { weight: 1, gradient: 1, master: 4, ..right }
    }),
    wrong!("6.6", stores_fp32_in_4_bytes, "fp32 is stored in 4 bytes, also if it saturates: compare `format.bits()`, not the format with a constant.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        if f.overflow != canopy::precision::Overflow::Saturate || f.bits() != 32 { return right; }
        BytesPerParameter { weight: 1, gradient: 1, master: 4, ..right }
    }),
    wrong!("6.6", stores_16_bits_in_2_bytes, "The sign has a bit, too: `format.bits()` counts it, `exponent` + `mantissa` does not.",
    bytes_per_parameter: |f, n| {
        let stored = ((f.exponent + f.mantissa) / 8).max(1);
        BytesPerParameter { weight: stored, gradient: stored, master: if stored < 4 { 4 } else { 0 }, optimizer: 4 * n }
    }),
    wrong!("6.6", has_masters_only_in_low_precision, "The master has 4 bytes of its own, not only those that the weight lacks.",
    bytes_per_parameter: |f, n| {
        let right = (REFERENCE.bytes_per_parameter)(f, n);
        BytesPerParameter { master: 4 - right.weight, ..right }
    }),
];
