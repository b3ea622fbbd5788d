//! Matrices of bf16 numbers in pairs: each u32 holds two numbers that follow each other along the dimension that a product
//! sums over, the first one in its lower half. Matrix units take their operands in this layout.

use super::Bf16Unit;
use crate::kernels::vector::Number;

/// One way to make pairs. Values are rounded to the nearest bf16, ties to even.
pub trait Pack {
    /// Pairs of neighbours in a row: `values` one after the other.
    ///
    /// # Safety
    /// The machine has the instructions. `pairs` is half as long as `values`, whose length is a multiple of 16.
    unsafe fn along_rows(values: &[f32], pairs: &mut [u32]);

    /// Pairs of neighbours in a column, from two rows of pairs along rows.
    ///
    /// # Safety
    /// The machine has the instructions. `pairs` is twice as long as a row, whose length is a multiple of 8.
    unsafe fn two_rows(first: &[u32], second: &[u32], pairs: &mut [u32]);
}

/// Packs a dense matrix with rows of an even length along its rows.
pub fn along_rows(unit: Bf16Unit, values: &[f32], pairs: &mut Vec<u32>) {
    assert!(values.len().is_multiple_of(16));
    pairs.resize(values.len() / 2, 0);
    // SAFETY: the sizes are as required, and a unit is chosen only if the machine has its instructions.
    unsafe {
        match unit.for_pairs() {
            #[cfg(target_arch = "x86_64")]
            Bf16Unit::Avx512 => super::avx512::Avx512::along_rows(values, pairs),
            _ => Portable::along_rows(values, pairs),
        }
    }
}

/// Turns pairs along rows, of a dense matrix with rows of `width` numbers, into pairs along its columns, `[rows / 2, width]`.
/// A last row without a neighbour is paired with zeros.
pub fn along_columns(unit: Bf16Unit, rows: &[u32], width: usize, pairs: &mut Vec<u32>) {
    let unit = unit.for_pairs();
    assert!(width.is_multiple_of(16) && rows.len().is_multiple_of(width / 2));
    pairs.resize(rows.len().div_ceil(width) * width, 0);
    let zeros;
    let (whole, last) = rows.split_at(rows.len() / width * width);
    let two = whole.chunks_exact(width).map(|two| two.split_at(width / 2));
    let rest = if last.is_empty() {
        None
    } else {
        zeros = vec![0; width / 2];
        Some((last, &zeros[..]))
    };
    for ((first, second), pairs) in two.chain(rest).zip(pairs.chunks_exact_mut(width)) {
        // SAFETY: as above.
        unsafe {
            match unit {
                #[cfg(target_arch = "x86_64")]
                Bf16Unit::Avx512 => super::avx512::Avx512::two_rows(first, second, pairs),
                _ => Portable::two_rows(first, second, pairs),
            }
        }
    }
}

/// The specification.
pub struct Portable;

impl Pack for Portable {
    unsafe fn along_rows(values: &[f32], pairs: &mut [u32]) {
        for (pair, two) in pairs.iter_mut().zip(values.chunks_exact(2)) {
            *pair = u32::from(u16::rounded(two[0])) | u32::from(u16::rounded(two[1])) << 16;
        }
    }

    unsafe fn two_rows(first: &[u32], second: &[u32], pairs: &mut [u32]) {
        for ((pairs, &first), &second) in pairs.chunks_exact_mut(2).zip(first).zip(second) {
            pairs[0] = first & 0xffff | second << 16;
            pairs[1] = first >> 16 | second & 0xffff_0000;
        }
    }
}

/// The two numbers of a pair.
pub fn unpack(pair: u32) -> [f32; 2] {
    [f32::from_bits(pair << 16), f32::from_bits(pair & 0xffff_0000)]
}
