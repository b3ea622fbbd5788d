//! Products of matrices of pairs that stay in the caches, on one thread, with sums in f32.

use super::Bf16Unit;
use super::pairs::unpack;
use crate::kernels::tile::LANES;

/// A left operand: the pair of row i and position k at `i · row_step + k · pair_step`.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    pub pairs: &'a [u32],
    pub row_step: usize,
    pub pair_step: usize,
}

/// `c = a·b`, or `c += a·b`: a is `rows × depth` pairs, b `depth × columns` pairs, and c `rows × columns`. b and c are dense.
pub struct Product<'a> {
    pub rows: usize,
    pub depth: usize,
    pub columns: usize,
    pub a: Left<'a>,
    pub b: &'a [u32],
    pub c: &'a mut [f32],
    pub add: bool,
    /// Only the values on or right of the diagonal are needed.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "the portable form computes all")
    )]
    pub upper: bool,
}

impl<'a> Product<'a> {
    /// `c = a·b` of `[rows, depth, columns]`.
    pub fn new([rows, depth, columns]: [usize; 3], a: Left<'a>, b: &'a [u32], c: &'a mut [f32]) -> Self {
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

    pub fn run(mut self, unit: Bf16Unit) {
        let Self {
            rows,
            depth,
            columns,
            a,
            ..
        } = self;
        if rows == 0 || columns == 0 {
            return;
        }
        assert!(columns.is_multiple_of(LANES));
        assert!(self.c.len() >= rows * columns && self.b.len() >= depth * columns);
        assert!(depth == 0 || a.pairs.len() > (rows - 1) * a.row_step + (depth - 1) * a.pair_step);
        match unit {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a unit is chosen only if the machine has its instructions; the sizes were checked.
            Bf16Unit::Avx512 => unsafe { super::avx512::run(&mut self) },
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            // SAFETY: as above.
            Bf16Unit::Amx => unsafe { super::amx::run(&mut self) },
            _ => self.portable(),
        }
    }

    /// The specification.
    fn portable(&mut self) {
        for i in 0..self.rows {
            let c = &mut self.c[i * self.columns..][..self.columns];
            if !self.add {
                c.fill(0.0);
            }
            for (k, b) in self.b.chunks_exact(self.columns).take(self.depth).enumerate() {
                let a = unpack(self.a.pairs[i * self.a.row_step + k * self.a.pair_step]);
                for (c, b) in c.iter_mut().zip(b) {
                    let b = unpack(*b);
                    *c += a[0] * b[0] + a[1] * b[1];
                }
            }
        }
    }
}
