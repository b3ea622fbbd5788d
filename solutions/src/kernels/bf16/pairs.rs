//! Matrices of bf16 numbers in pairs: two numbers that follow each other along the dimension that a product sums over. A
//! dense matrix has the pairs along its rows already.

use crate::kernels::matrix::Matrix;
use crate::kernels::tile::Product;
use crate::kernels::vector::{self, Number};

/// The bits of two bf16 numbers.
pub type Pair = [u16; 2];

/// The pairs along the rows.
pub fn along_rows(values: &[u16]) -> &[Pair] {
    values.as_chunks().0
}

/// The pairs along the columns of a dense matrix with rows of `width` numbers, `[rows / 2, width]`. A last row without a
/// neighbour is paired with zeros.
pub fn along_columns(values: &[u16], width: usize, pairs: &mut Vec<Pair>) {
    assert!(values.len().is_multiple_of(width));
    pairs.resize(values.len().div_ceil(2 * width) * width, [0; 2]);
    let zeros = vec![0; width];
    for (rows, pairs) in values.chunks(2 * width).zip(pairs.chunks_exact_mut(width)) {
        let (first, second) = rows.split_at(width);
        let second = if second.is_empty() { &zeros } else { second };
        vector::in_pairs(first, second, pairs);
    }
}

impl Product<'_, Pair> {
    /// Computes the product without special instructions; the specification.
    pub fn portable(self) {
        let Matrix {
            data,
            row_step,
            column_step,
        } = self.a;
        for (i, c) in self.c.chunks_exact_mut(self.columns).take(self.rows).enumerate() {
            if !self.add {
                c.fill(0.0);
            }
            for (k, b) in self.b.chunks_exact(self.columns).take(self.depth).enumerate() {
                let a = data[i * row_step + k * column_step].map(Number::wide);
                for (c, b) in c.iter_mut().zip(b) {
                    *c += a[0] * b[0].wide() + a[1] * b[1].wide();
                }
            }
        }
    }
}
