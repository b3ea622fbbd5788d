//! The numbers that products multiply: f32, or bf16 in 16 bits. Sums are f32 in both.

use std::borrow::Cow;

use bytemuck::Pod;

use super::instruction_set::Bf16Unit;
use super::matrix::Matrix;
use super::tile::Product;
use super::vector::{self, Number};

/// The bits of two bf16 numbers that follow each other along the dimension that a product sums over.
pub(super) type Pair = [u16; 2];

/// A number of a product's operands. Blocks of rows and right operands are dense, and their rows are a multiple of 16 long.
pub(super) trait Operand: Number + Pod + Send + Sync {
    /// What a lane of the register tile reads: the numbers that follow each other along the sum.
    type Word: Pod + Send + Sync;

    /// Whether f32 values are rounded to numbers of this type.
    const IS_ROUNDED: bool;

    /// Numbers of a word.
    const PER_WORD: usize = size_of::<Self::Word>() / size_of::<Self>();

    /// The words along the columns of rows of `width` numbers: in place, or in `words`.
    fn along_columns<'a>(
        numbers: &'a [Self],
        width: usize,
        words: &'a mut Vec<Self::Word>,
    ) -> &'a [Self::Word];

    /// A right operand `[depth, columns]` that many products share.
    fn right<'a>(values: impl Into<Cow<'a, [f32]>>, columns: usize) -> Cow<'a, [Self::Word]>;

    /// Computes a product; `unit` has the instructions for bf16.
    fn run(product: Product<Self::Word>, unit: Bf16Unit);

    /// Returns `values` as numbers: in place, or rounded to `numbers`.
    fn of<'a>(values: &'a [f32], numbers: &'a mut Vec<Self>) -> &'a [Self] {
        if !Self::IS_ROUNDED {
            return bytemuck::cast_slice(values);
        }
        numbers.resize(values.len(), Self::default());
        vector::convert(numbers, values);
        numbers
    }

    /// Rounds each value to a number of this type.
    fn round(values: &mut [f32]) {
        if Self::IS_ROUNDED {
            vector::round_to_bf16(values);
        }
    }

    /// `compute` writes the numbers as f32: in place, or to `wide`, from which they are then copied. It has rounded them.
    fn write(numbers: &mut [Self], wide: &mut Vec<f32>, compute: impl FnOnce(&mut [f32])) {
        if !Self::IS_ROUNDED {
            return compute(bytemuck::cast_slice_mut(numbers));
        }
        wide.resize(numbers.len(), 0.0);
        compute(wide);
        vector::convert(numbers, wide);
    }
}

impl Operand for f32 {
    type Word = f32;

    const IS_ROUNDED: bool = false;

    fn along_columns<'a>(numbers: &'a [f32], _: usize, _: &'a mut Vec<f32>) -> &'a [f32] {
        numbers
    }

    fn right<'a>(values: impl Into<Cow<'a, [f32]>>, _: usize) -> Cow<'a, [f32]> {
        values.into()
    }

    fn run(product: Product<f32>, _: Bf16Unit) {
        product.run();
    }
}

impl Operand for u16 {
    type Word = Pair;

    const IS_ROUNDED: bool = true;

    /// A last row without a neighbour is paired with zeros.
    fn along_columns<'a>(numbers: &'a [u16], width: usize, words: &'a mut Vec<Pair>) -> &'a [Pair] {
        assert!(numbers.len().is_multiple_of(width));
        words.resize(numbers.len().div_ceil(2 * width) * width, [0; 2]);
        let zeros = vec![0; width];
        for (rows, pairs) in numbers.chunks(2 * width).zip(words.chunks_exact_mut(width)) {
            let (first, second) = rows.split_at(width);
            let second = if second.is_empty() { &zeros } else { second };
            vector::in_pairs(first, second, pairs);
        }
        words
    }

    fn right<'a>(values: impl Into<Cow<'a, [f32]>>, columns: usize) -> Cow<'a, [Pair]> {
        let (mut numbers, mut words) = (Vec::new(), Vec::new());
        Self::along_columns(Self::of(&values.into(), &mut numbers), columns, &mut words);
        words.into()
    }

    fn run(product: Product<Pair>, unit: Bf16Unit) {
        match unit {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a unit is chosen only if the machine has its instructions.
            Bf16Unit::Avx512 => unsafe { avx512::run(product) },
            _ => portable(product),
        }
    }
}

/// `c = a·b`, or `c += a·b`. a is `rows × depth`, its rows are filled up with zeros.
pub(super) fn multiply<T: Operand>(
    unit: Bf16Unit,
    [rows, depth, columns]: [usize; 3],
    a: &[T],
    b: &[T::Word],
    c: &mut [f32],
    add: bool,
) {
    let a: &[T::Word] = bytemuck::cast_slice(a);
    let sizes = [rows, depth.div_ceil(T::PER_WORD), columns];
    let product = Product::new(sizes, Matrix::dense(a, a.len() / rows), b, c);
    T::run(Product { add, ..product }, unit);
}

/// Buffers of one thread.
pub(super) type Words<T> = [Vec<<T as Operand>::Word>; 2];

/// `c += aᵀ·b` over rows, a of `n` values and b of `k`. If `b` is `None`, it is a, and only the values on or right of the
/// diagonal are computed.
pub(super) fn add_transposed<T: Operand>(
    unit: Bf16Unit,
    [n, rows, k]: [usize; 3],
    a: &[T],
    b: Option<&[T]>,
    c: &mut [f32],
    [left, right]: &mut Words<T>,
) {
    let a = T::along_columns(a, n, left);
    let words = b.map_or(a, |b| T::along_columns(b, k, right));
    let sizes = [n, rows.div_ceil(T::PER_WORD), k];
    let product = Product {
        add: true,
        upper: b.is_none(),
        ..Product::new(sizes, Matrix::dense(a, n).t(), words, c)
    };
    T::run(product, unit);
}

/// A product of bf16 numbers without special instructions; the specification.
fn portable(product: Product<Pair>) {
    let Matrix {
        data,
        row_step,
        column_step,
    } = product.a;
    let rows = product.c.chunks_exact_mut(product.columns).take(product.rows);
    for (i, c) in rows.enumerate() {
        if !product.add {
            c.fill(0.0);
        }
        let lines = product.b.chunks_exact(product.columns).take(product.depth);
        for (k, b) in lines.enumerate() {
            let a = data[i * row_step + k * column_step].map(Number::wide);
            for (c, b) in c.iter_mut().zip(b) {
                *c += a[0] * b[0].wide() + a[1] * b[1].wide();
            }
        }
    }
}

/// `vdpbf16ps` of AVX512-BF16.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{__m512, __m512bh, _mm512_dpbf16_ps};
    use std::mem::transmute;

    use pulp::{f32x16, u32x16, x86::V4};

    use super::Pair;
    use crate::kernels::tile::{Product, Word};

    /// # Safety
    /// The machine has the instructions.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512bf16")]
    pub unsafe fn run(product: Product<Pair>) {
        // SAFETY: the caller's.
        unsafe { product.compute(V4::new_unchecked()) }
    }

    impl Word<V4> for Pair {
        type Words = u32x16;
        type Sums = f32x16;

        #[inline(always)]
        fn splat(self, simd: V4) -> u32x16 {
            simd.splat_u32x16(bytemuck::cast(self))
        }

        #[inline(always)]
        fn multiply_add(_: V4, a: u32x16, b: u32x16, sum: f32x16) -> f32x16 {
            // SAFETY: `run` enables the instruction; the types are 512 bits without an invalid value.
            unsafe {
                let sum = transmute::<f32x16, __m512>(sum);
                let [a, b] = [a, b].map(|pairs| transmute::<u32x16, __m512bh>(pairs));
                transmute::<__m512, f32x16>(_mm512_dpbf16_ps(sum, a, b))
            }
        }
    }
}

#[cfg(test)]
mod tests;
