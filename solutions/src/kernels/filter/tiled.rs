//! The products of the 8-bit operands in tiles, for any vector that has the instruction.

use super::HEIGHT;
use crate::kernels::tile::PANEL;

/// A vector of 32-bit integers, and an instruction that adds four products of 8 bits to each. The functions are only called
/// if the machine has the instructions, from a function that is compiled for them.
pub trait Vector: Copy {
    const LANES: usize;
    /// What `steps` subtracts from each step, for instructions that multiply signed values only.
    const OFFSET: i32;

    fn splat(value: i32) -> Self;

    /// # Safety
    /// Four times `LANES` bytes can be read.
    unsafe fn load<T>(from: *const T) -> Self;

    /// # Safety
    /// Four times `LANES` bytes can be written.
    unsafe fn store(self, to: *mut i32);

    /// Four steps of a row, minus `OFFSET`, in each lane.
    ///
    /// # Safety
    /// Four bytes can be read.
    unsafe fn steps(from: *const u8) -> Self;

    /// Adds to each lane its four products.
    fn dot(self, steps: Self, columns: Self) -> Self;

    fn max(self, other: Self) -> Self;
}

/// [`maxima`](super::products::maxima), in tiles of HIGH rows × WIDE vectors of columns, whose sums are in registers.
///
/// # Safety
/// The machine has the instructions of `V`, and `maxima` has [`PANEL`] entries for each block.
#[inline(always)]
pub unsafe fn tiled<V: Vector, const HIGH: usize, const WIDE: usize>(
    rows: &[u8],
    panel: &[i8],
    maxima: &mut [i32],
) {
    let depth = panel.len() / PANEL;
    // Σ(q − OFFSET)·p + OFFSET·Σp = Σq·p, in integers.
    let mut start = [0; PANEL];
    if V::OFFSET != 0 {
        for columns in panel.chunks_exact(4 * PANEL) {
            for (start, column) in start.iter_mut().zip(columns.chunks_exact(4)) {
                *start += V::OFFSET * column.iter().map(|&p| i32::from(p)).sum::<i32>();
            }
        }
    }
    let blocks = rows.chunks_exact(HEIGHT * depth);
    for (block, maxima) in blocks.zip(maxima.chunks_exact_mut(PANEL)) {
        for from in (0..PANEL).step_by(WIDE * V::LANES) {
            let mut top = [V::splat(i32::MIN); WIDE];
            for first in (0..HEIGHT).step_by(HIGH) {
                // SAFETY: a block has depth / 4 groups of HEIGHT · 4 bytes, a panel as many of PANEL · 4; HIGH divides
                // HEIGHT, and WIDE · LANES divides PANEL.
                unsafe {
                    let mut sums = [[V::splat(0); WIDE]; HIGH];
                    for sums in &mut sums {
                        for (j, sum) in sums.iter_mut().enumerate() {
                            *sum = V::load(start.as_ptr().add(from + j * V::LANES));
                        }
                    }
                    for k in 0..depth / 4 {
                        let mut p = [V::splat(0); WIDE];
                        for (j, p) in p.iter_mut().enumerate() {
                            *p = V::load(panel.as_ptr().add((k * PANEL + from + j * V::LANES) * 4));
                        }
                        for (r, sums) in sums.iter_mut().enumerate() {
                            let q = V::steps(block.as_ptr().add((k * HEIGHT + first + r) * 4));
                            for (sum, p) in sums.iter_mut().zip(p) {
                                *sum = sum.dot(q, p);
                            }
                        }
                    }
                    for sums in sums {
                        for (top, sum) in top.iter_mut().zip(sums) {
                            *top = top.max(sum);
                        }
                    }
                }
            }
            for (j, top) in top.into_iter().enumerate() {
                // SAFETY: as above.
                unsafe { top.store(maxima.as_mut_ptr().add(from + j * V::LANES)) };
            }
        }
    }
}
