//! Products of small matrices that stay in the caches, on one thread: the innermost loop, which takes most of the time.
//!
//! One register tile serves all of them: H rows × W vectors of sums, for every instruction set and both kinds of [`Word`] (f32,
//! or four numbers of 8 bits). A product has 24 sums on machines of 32 vector registers (AVX-512 and NEON),
//! as 6 rows × 4 vectors: 4 registers are the right operand, 1 is the left one. On machines of 16 (AVX2) it has 6 × 2. On
//! NEON the shape follows from the number of registers and was not measured. Every sum adds in the order of the depth, so
//! the shape changes no bit of it. The left operand is read word by word, so it may be a matrix or its transpose; the right
//! one is read row by row.

use bytemuck::Zeroable;
use pulp::{Simd, WithSimd};

use super::instruction_set::dispatch;
use super::matrix::Matrix;

/// The channels of a padded matrix are a multiple of this: whole vectors on every machine.
pub(super) const LANES: usize = 16;

/// `channels`, rounded up to whole vectors.
pub(super) fn padded(channels: usize) -> usize {
    channels.next_multiple_of(LANES)
}

/// What a lane of the vectors `S` holds of an operand: 32 bits with one number or several.
pub(super) trait Word<S: Simd>: Copy {
    type Words: Copy;
    type Sums: Copy + Zeroable;

    /// The word in each lane.
    fn splat(self, simd: S) -> Self::Words;

    /// Adds to each lane's sum the products of its numbers.
    fn multiply_add(simd: S, a: Self::Words, b: Self::Words, sum: Self::Sums) -> Self::Sums;
}

impl<S: Simd> Word<S> for f32 {
    type Words = S::f32s;
    type Sums = S::f32s;

    #[inline(always)]
    fn splat(self, simd: S) -> S::f32s {
        simd.splat_f32s(self)
    }

    #[inline(always)]
    fn multiply_add(simd: S, a: S::f32s, b: S::f32s, sum: S::f32s) -> S::f32s {
        // x86-64 has no instruction for it in vectors of 4 lanes, which belong to the base set: a call for each lane.
        if cfg!(target_arch = "x86_64") && S::F32_LANES <= 4 {
            return simd.add_f32s(simd.mul_f32s(a, b), sum);
        }
        simd.mul_add_e_f32s(a, b, sum)
    }
}

/// The register tile: the sums of H rows × W vectors of a·b. `a` returns the word of a row and a position in the depth, and
/// `b_step` is the distance of two rows of b.
///
/// # Safety
/// The machine has the instructions of `S` and `T`, and b can be read.
#[inline(always)]
pub(super) unsafe fn sums<S: Simd, T: Word<S>, const H: usize, const W: usize>(
    simd: S,
    depth: usize,
    a: impl Fn(usize, usize) -> T,
    b: *const T,
    b_step: usize,
) -> [[T::Sums; W]; H] {
    let mut sums = [[T::Sums::zeroed(); W]; H];
    for k in 0..depth {
        // SAFETY: the caller's.
        unsafe {
            let b = b.add(k * b_step);
            let mut line = [b.cast::<T::Words>().read_unaligned(); W];
            for (j, v) in line.iter_mut().enumerate().skip(1) {
                *v = b.add(j * S::F32_LANES).cast::<T::Words>().read_unaligned();
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let v = a(i, k).splat(simd);
                for (sum, &b) in sums.iter_mut().zip(&line) {
                    *sum = T::multiply_add(simd, v, b, *sum);
                }
            }
        }
    }
    sums
}

/// `c = a·b`, or `c += a·b`, of a `rows × depth`, and b `depth × columns` and c `rows × columns`, both dense.
/// `columns` is a multiple of [`LANES`].
pub(super) struct Product<'a> {
    pub rows: usize,
    pub depth: usize,
    pub columns: usize,
    pub a: Matrix<'a>,
    pub b: &'a [f32],
    pub c: &'a mut [f32],
    /// Adds to c instead of overwriting it.
    pub add: bool,
    /// Only the values on or right of the diagonal are needed.
    pub upper: bool,
}

impl<'a> Product<'a> {
    pub fn new([rows, depth, columns]: [usize; 3], a: Matrix<'a>, b: &'a [f32], c: &'a mut [f32]) -> Self {
        assert!(columns.is_multiple_of(LANES) && c.len() >= rows * columns && b.len() >= depth * columns);
        assert!(rows == 0 || depth == 0 || a.contains(rows, depth));
        Self {
            rows,
            depth,
            columns,
            a,
            b,
            c,
            add: false,
            upper: false,
        }
    }

    /// Computes the product with the current instruction set.
    pub fn run(self) {
        dispatch(self);
    }

    /// All rows of W vectors of columns. Returns W.
    #[inline(always)]
    unsafe fn rows<S: Simd, const H: usize, const W: usize>(&mut self, simd: S, from: usize) -> usize {
        let end = if self.upper {
            self.rows.min(from + W * S::F32_LANES)
        } else {
            self.rows
        };
        let mut row = 0;
        // SAFETY: the caller's.
        unsafe {
            while end - row >= H {
                self.tile::<S, H, W>(simd, row, from);
                row += H;
            }
            while end - row >= 6 {
                self.tile::<S, 6, W>(simd, row, from);
                row += 6;
            }
            match end - row {
                5 => self.tile::<S, 5, W>(simd, row, from),
                4 => self.tile::<S, 4, W>(simd, row, from),
                3 => self.tile::<S, 3, W>(simd, row, from),
                2 => self.tile::<S, 2, W>(simd, row, from),
                1 => self.tile::<S, 1, W>(simd, row, from),
                _ => (),
            }
        }
        W
    }

    #[inline(always)]
    unsafe fn tile<S: Simd, const H: usize, const W: usize>(&mut self, simd: S, row: usize, from: usize) {
        let (row_step, column_step) = (self.a.row_step, self.a.column_step);
        // SAFETY: `new` has checked the operands against the sizes.
        unsafe {
            let a = self.a.data.as_ptr().add(row * row_step);
            let a = |i, k| *a.add(k * column_step).add(i * row_step);
            let b = self.b.as_ptr().add(from);
            let sums = sums::<S, f32, H, W>(simd, self.depth, a, b, self.columns);
            let c = self.c.as_mut_ptr().add(row * self.columns + from);
            for (i, line) in sums.iter().enumerate() {
                for (j, &sum) in line.iter().enumerate() {
                    let at = c.add(i * self.columns + j * S::F32_LANES).cast::<S::f32s>();
                    let value = if self.add {
                        simd.add_f32s(at.read_unaligned(), sum)
                    } else {
                        sum
                    };
                    at.write_unaligned(value);
                }
            }
        }
    }
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        // As many sums in a narrower tile: of an upper product, less of it lies left of the diagonal.
        let narrow = self.upper && S::F32_LANES >= LANES;
        let mut from = 0;
        while from < self.columns {
            let left = (self.columns - from) / S::F32_LANES;
            // SAFETY: the machine has the instructions, and `left` vectors of columns are left.
            let wide = unsafe {
                if S::REGISTER_COUNT < 32 {
                    match left {
                        2.. => self.rows::<S, 6, 2>(simd, from),
                        _ => self.rows::<S, 6, 1>(simd, from),
                    }
                } else {
                    match left {
                        4.. if !narrow => self.rows::<S, 6, 4>(simd, from),
                        2.. => self.rows::<S, 12, 2>(simd, from),
                        _ => self.rows::<S, 12, 1>(simd, from),
                    }
                }
            };
            from += wide * S::F32_LANES;
        }
    }
}

/// `c += aᵀ·b` over rows, a of `n` values and b of `k`, a multiple of [`LANES`]. If `b` is `None`, it is a, and only the values
/// on or right of the diagonal are computed.
pub(super) fn add_transposed([n, rows, k]: [usize; 3], a: &[f32], b: Option<&[f32]>, c: &mut [f32]) {
    let product = Product::new([n, rows, k], Matrix::dense(a, n).t(), b.unwrap_or(a), c);
    Product {
        add: true,
        upper: b.is_none(),
        ..product
    }
    .run();
}

#[cfg(test)]
mod tests;
