//! Products of whole matrices by the `gemm` crate, divided into pieces independently of the number of threads.

use gemm::Parallelism;
use rayon::prelude::*;

use super::matrix::Matrix;

/// Sizes of `a·b`: a is `rows × depth`, b `depth × columns`.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub rows: usize,
    pub depth: usize,
    pub columns: usize,
}

/// Sizes in the order of the formula.
pub(super) fn sizes(rows: usize, depth: usize, columns: usize) -> Sizes {
    Sizes { rows, depth, columns }
}

/// Depth of the parts of a deep sum, which are added in order.
const DEEP: usize = 4096;

/// `a·b`, row by row.
pub(super) fn matmul(sizes: Sizes, a: Matrix, b: Matrix) -> Vec<f32> {
    let Sizes { rows, depth, columns } = sizes;
    if depth > 2 * DEEP {
        let starts: Vec<usize> = (0..depth).step_by(DEEP).collect();
        let parts = starts.par_iter().map(|&k| {
            let mut part = vec![0.0; rows * columns];
            let sizes = Sizes {
                depth: DEEP.min(depth - k),
                ..sizes
            };
            one_thread(sizes, a.right_of(k), b.below(k), &mut part, columns);
            part
        });
        return parts
            .collect::<Vec<_>>()
            .into_iter()
            .reduce(|mut sum, part| {
                super::vector::add(&mut sum, &part);
                sum
            })
            .unwrap_or_default();
    }
    let mut c = vec![0.0; rows * columns];
    if rows * columns == 0 {
        return c;
    }
    if rows >= 128 || columns < 128 {
        let piece = rows.div_ceil(16).max(32);
        c.par_chunks_mut(piece * columns).enumerate().for_each(|(i, c)| {
            let sizes = Sizes {
                rows: c.len() / columns,
                ..sizes
            };
            one_thread(sizes, a.below(i * piece), b, c, columns);
        });
        return c;
    }
    // Few rows, many columns: pieces of columns, each computed by itself and then copied to its place.
    let piece = columns.div_ceil(16).max(64);
    let starts: Vec<usize> = (0..columns).step_by(piece).collect();
    let parts: Vec<Vec<f32>> = starts
        .par_iter()
        .map(|&j| {
            let width = piece.min(columns - j);
            let mut part = vec![0.0; rows * width];
            one_thread(
                Sizes {
                    columns: width,
                    ..sizes
                },
                a,
                b.right_of(j),
                &mut part,
                width,
            );
            part
        })
        .collect();
    for (&j, part) in starts.iter().zip(&parts) {
        let width = part.len() / rows;
        for (to, from) in c.chunks_exact_mut(columns).zip(part.chunks_exact(width)) {
            to[j..j + width].copy_from_slice(from);
        }
    }
    c
}

/// `c = a·b` on this thread; rows of c are `c_step` apart.
pub(super) fn one_thread(sizes: Sizes, a: Matrix, b: Matrix, c: &mut [f32], c_step: usize) {
    let Sizes { rows, depth, columns } = sizes;
    if rows == 0 || columns == 0 {
        return;
    }
    if depth == 0 {
        c.chunks_mut(c_step)
            .take(rows)
            .for_each(|row| row[..columns].fill(0.0));
        return;
    }
    assert!(a.contains(rows, depth) && b.contains(depth, columns));
    assert!(c.len() > (rows - 1) * c_step + columns - 1);
    // SAFETY: the operands contain their last elements (asserted), and c is borrowed for this call alone.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            depth,
            c.as_mut_ptr(),
            1,
            c_step as isize,
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
