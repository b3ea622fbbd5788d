//! Products of whole matrices by the `gemm` crate, divided into pieces independently of the number of threads.

use gemm::Parallelism;
use rayon::prelude::*;

use super::matrix::Matrix;
use super::vector;

/// Depth of the parts of a deep sum, which are added in order.
const DEEP: usize = 4096;

/// `a·b`, row by row; a is `rows × depth`, b `depth × columns`.
pub(super) fn matmul([rows, depth, columns]: [usize; 3], a: Matrix, b: Matrix) -> Vec<f32> {
    if depth > 2 * DEEP {
        let part = |i: usize| {
            let (from, mut part) = (i * DEEP, vec![0.0; rows * columns]);
            let sizes = [rows, DEEP.min(depth - from), columns];
            one_thread(sizes, a.right_of(from), b.below(from), &mut part);
            part
        };
        let parts: Vec<Vec<f32>> = (0..depth.div_ceil(DEEP)).into_par_iter().map(part).collect();
        let sum = parts.into_iter().reduce(|mut sum, part| {
            vector::add(&mut sum, &part);
            sum
        });
        return sum.unwrap_or_default();
    }
    let mut c = vec![0.0; rows * columns];
    if c.is_empty() {
        return c;
    }
    if rows >= 128 || columns < 128 {
        let piece = rows.div_ceil(16).max(32);
        c.par_chunks_mut(piece * columns).enumerate().for_each(|(i, c)| {
            one_thread([c.len() / columns, depth, columns], a.below(i * piece), b, c);
        });
        return c;
    }
    // Few rows, many columns: pieces of columns, each computed by itself and then copied to its place.
    let piece = columns.div_ceil(16).max(64);
    let part = |i: usize| {
        let width = piece.min(columns - i * piece);
        let mut part = vec![0.0; rows * width];
        one_thread([rows, depth, width], a, b.right_of(i * piece), &mut part);
        part
    };
    let parts: Vec<Vec<f32>> = (0..columns.div_ceil(piece)).into_par_iter().map(part).collect();
    for (i, part) in parts.iter().enumerate() {
        let width = part.len() / rows;
        for (to, from) in c.chunks_exact_mut(columns).zip(part.chunks_exact(width)) {
            to[i * piece..][..width].copy_from_slice(from);
        }
    }
    c
}

/// `c = a·b` on this thread.
pub(super) fn one_thread([rows, depth, columns]: [usize; 3], a: Matrix, b: Matrix, c: &mut [f32]) {
    if rows == 0 || columns == 0 {
        return;
    }
    if depth == 0 {
        return c.fill(0.0);
    }
    assert!(a.contains(rows, depth) && b.contains(depth, columns));
    assert!(c.len() >= rows * columns);
    // SAFETY: the operands contain their last elements (asserted), and c is borrowed for this call alone.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            depth,
            c.as_mut_ptr(),
            1,
            columns as isize,
            false,
            a.data.as_ptr(),
            a.column_step as isize,
            a.row_step as isize,
            b.data.as_ptr(),
            b.column_step as isize,
            b.row_step as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
