//! `x·wᵀ + b`, the last layer of a head.

use candle_core::{Result, Tensor, bail};

use super::matmul::{Matrix, Sizes, matmul};
use super::values::{Values, is_fused};
use super::{tape, vector};

/// `x·wᵀ + b`. x `[rows, in]`, w `[out, in]`, b `[out]` → `[rows, out]`.
///
/// # Errors
/// Shapes that do not fit, with what was expected.
pub fn linear(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    let ([rows, k], [n, wk], [bn]) = (x.dims(), w.dims(), b.dims()) else {
        bail!(
            "linear: expected x [rows, in], w [out, in], b [out], got {:?}, {:?}, {:?}",
            x.dims(),
            w.dims(),
            b.dims()
        );
    };
    let (rows, k, n) = (*rows, *k, *n);
    if *wk != k || *bn != n {
        bail!(
            "linear: expected w [out, {k}] and b [out], got {:?} and {:?}",
            w.dims(),
            b.dims()
        );
    }
    let Some(tape) = tape::Tape::of(&[x]).filter(|_| is_fused(w) && is_fused(b)) else {
        return x.matmul(&w.t()?)?.broadcast_add(b);
    };
    let (xc, wc) = (x.contiguous()?, w.contiguous()?);
    let sizes = Sizes {
        rows,
        depth: k,
        columns: n,
    };
    let mut y = matmul(
        sizes,
        Matrix::dense(&Values::of(&xc)?, k),
        Matrix::dense(&Values::of(&wc)?, k).t(),
    );
    let bc = b.contiguous()?;
    let bias = Values::of(&bc)?;
    y.chunks_exact_mut(n).for_each(|row| vector::add(row, &bias));
    tape::record(Some(&tape), &[x, w, b], y, &[rows, n], || {
        let (x, w) = (xc.detach(), wc.detach());
        Box::new(move |g, wanted| {
            let (x, w) = (Values::of(&x)?, Values::of(&w)?);
            let g = Matrix::dense(&g, n);
            let dx = || {
                matmul(
                    Sizes {
                        rows,
                        depth: n,
                        columns: k,
                    },
                    g,
                    Matrix::dense(&w, k),
                )
            };
            let dw = || {
                matmul(
                    Sizes {
                        rows: n,
                        depth: rows,
                        columns: k,
                    },
                    g.t(),
                    Matrix::dense(&x, k),
                )
            };
            let db = || {
                let mut sum = vec![0.0; n];
                vector::column_sums(g.data, &mut sum);
                sum
            };
            Ok(vec![wanted[0].then(dx), wanted[1].then(dw), wanted[2].then(db)])
        })
    })
}
