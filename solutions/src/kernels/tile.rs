//! Products of small matrices that stay in the caches, on one thread: the innermost loop, which takes most of the time.
//!
//! The register tile is 6 rows × 4 vectors on machines of 32 vector registers (AVX-512 and NEON: 24 of them are sums, 4
//! the right operand, 1 the left one), and 6 × 2 on machines of 16 (AVX2). On NEON the shape follows from the number of
//! registers and was not measured. Every sum adds in the order of the depth, so the shape changes no bit of it. The left
//! operand is read value by value, so it may be a matrix or its transpose; the right one is read row by row. `pulp`
//! chooses the instruction set at run time.

use pulp::{Arch, Simd, WithSimd};

use super::instruction_set::InstructionSet;

/// The channels of a padded matrix are a multiple of this: whole vectors on every machine.
pub(super) const LANES: usize = 16;

/// `channels`, rounded up to whole vectors.
pub(super) fn padded(channels: usize) -> usize {
    channels.next_multiple_of(LANES)
}

/// Runs `op` with the current instruction set.
pub(super) fn dispatch<Op: WithSimd>(op: Op) -> Op::Output {
    match InstructionSet::current() {
        InstructionSet::Avx512 => Arch::new().dispatch(op),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => match pulp::x86::V3::try_new() {
            Some(avx2) => Simd::vectorize(avx2, op),
            None => Simd::vectorize(pulp::Scalar::new(), op),
        },
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Base => Simd::vectorize(pulp::Scalar::new(), op),
        // Other architectures have vectors in their base set: NEON on aarch64.
        #[cfg(not(target_arch = "x86_64"))]
        _ => Arch::new().dispatch(op),
    }
}

/// As [`dispatch`], with vectors of at most 8 lanes.
pub(super) fn dispatch_narrow<Op: WithSimd>(op: Op) -> Op::Output {
    #[cfg(target_arch = "x86_64")]
    if InstructionSet::current() == InstructionSet::Avx512
        && let Some(avx2) = pulp::x86::V3::try_new()
    {
        return Simd::vectorize(avx2, op);
    }
    dispatch(op)
}

/// A left operand: element (row, column) of `data` at `row · row_step + column · column_step`.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    pub data: &'a [f32],
    pub row_step: usize,
    pub column_step: usize,
}

impl<'a> Left<'a> {
    /// A dense matrix with rows of `width`.
    pub fn dense(data: &'a [f32], width: usize) -> Self {
        Self {
            data,
            row_step: width,
            column_step: 1,
        }
    }

    /// The transpose of a dense matrix with rows of `width`.
    pub fn transpose(data: &'a [f32], width: usize) -> Self {
        Self {
            data,
            row_step: 1,
            column_step: width,
        }
    }
}

/// `c = a·b`, or `c += a·b`, of a `rows × depth`, and b `depth × columns` and c `rows × columns`, both dense. `columns` is a
/// multiple of [`LANES`].
pub(super) struct Product<'a> {
    rows: usize,
    depth: usize,
    columns: usize,
    a: Left<'a>,
    b: &'a [f32],
    c: &'a mut [f32],
    add: bool,
    upper: bool,
}

impl<'a> Product<'a> {
    pub fn new([rows, depth, columns]: [usize; 3], a: Left<'a>, b: &'a [f32], c: &'a mut [f32]) -> Self {
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

    /// Adds to c instead of overwriting it.
    pub fn add(self) -> Self {
        Self { add: true, ..self }
    }

    /// Only the values on or right of the diagonal are needed.
    pub fn upper(self) -> Self {
        Self { upper: true, ..self }
    }

    pub fn run(self) {
        let (rows, depth, columns, a) = (self.rows, self.depth, self.columns, &self.a);
        if rows == 0 || columns == 0 {
            return;
        }
        assert!(columns % LANES == 0);
        assert!(self.c.len() >= rows * columns && self.b.len() >= depth * columns);
        assert!(depth == 0 || a.data.len() > (rows - 1) * a.row_step + (depth - 1) * a.column_step);
        dispatch(self);
    }
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // SAFETY: `run` has checked the operands against the sizes.
        unsafe {
            if S::F32_LANES >= 16 && self.upper {
                // As many sums in a narrower tile: less of it lies left of the diagonal.
                columns::<S, 12, 2>(simd, self);
            } else if S::REGISTER_COUNT >= 32 {
                columns::<S, 6, 4>(simd, self);
            } else {
                columns::<S, 6, 2>(simd, self);
            }
        }
    }
}

#[inline(always)]
unsafe fn columns<S: Simd, const HIGH: usize, const WIDE: usize>(simd: S, mut p: Product) {
    let mut from = 0;
    while p.columns - from >= WIDE * S::F32_LANES {
        unsafe { rows::<S, HIGH, WIDE>(simd, &mut p, from) };
        from += WIDE * S::F32_LANES;
    }
    while p.columns > from {
        let left = (p.columns - from) / S::F32_LANES;
        let take = if left >= 2 { 2 } else { 1 };
        if take == 2 {
            unsafe { rows::<S, 6, 2>(simd, &mut p, from) };
        } else {
            unsafe { rows::<S, 6, 1>(simd, &mut p, from) };
        }
        from += take * S::F32_LANES;
    }
}

#[inline(always)]
unsafe fn rows<S: Simd, const H: usize, const W: usize>(simd: S, p: &mut Product, from: usize) {
    let end = if p.upper {
        p.rows.min(from + W * S::F32_LANES)
    } else {
        p.rows
    };
    let mut row = 0;
    unsafe {
        while end - row >= H {
            store::<S, H, W>(simd, p, row, from);
            row += H;
        }
        while end - row >= 6 {
            store::<S, 6, W>(simd, p, row, from);
            row += 6;
        }
        match end - row {
            5 => store::<S, 5, W>(simd, p, row, from),
            4 => store::<S, 4, W>(simd, p, row, from),
            3 => store::<S, 3, W>(simd, p, row, from),
            2 => store::<S, 2, W>(simd, p, row, from),
            1 => store::<S, 1, W>(simd, p, row, from),
            _ => (),
        }
    }
}

#[inline(always)]
unsafe fn store<S: Simd, const H: usize, const W: usize>(simd: S, p: &mut Product, row: usize, from: usize) {
    unsafe {
        let a = p.a.data.as_ptr().add(row * p.a.row_step);
        let steps = (p.a.row_step, p.a.column_step);
        let sums = sums::<S, H, W>(simd, p.depth, a, steps, p.b.as_ptr().add(from), p.columns);
        let c = p.c.as_mut_ptr().add(row * p.columns + from);
        for (i, line) in sums.iter().enumerate() {
            for (j, &sum) in line.iter().enumerate() {
                let at = c.add(i * p.columns + j * S::F32_LANES).cast::<S::f32s>();
                let value = if p.add {
                    simd.add_f32s(at.read_unaligned(), sum)
                } else {
                    sum
                };
                at.write_unaligned(value);
            }
        }
    }
}

/// The register tile: H rows × W vectors of a·b.
#[inline(always)]
unsafe fn sums<S: Simd, const H: usize, const W: usize>(
    simd: S,
    depth: usize,
    a: *const f32,
    (row_step, column_step): (usize, usize),
    b: *const f32,
    b_step: usize,
) -> [[S::f32s; W]; H] {
    let zero = simd.splat_f32s(0.0);
    let mut sums = [[zero; W]; H];
    for k in 0..depth {
        unsafe {
            let b = b.add(k * b_step);
            let mut line = [zero; W];
            for (j, v) in line.iter_mut().enumerate() {
                *v = b.add(j * S::F32_LANES).cast::<S::f32s>().read_unaligned();
            }
            let a = a.add(k * column_step);
            for (i, sums) in sums.iter_mut().enumerate() {
                let v = simd.splat_f32s(*a.add(i * row_step));
                for (sum, &b) in sums.iter_mut().zip(&line) {
                    *sum = simd.mul_add_e_f32s(v, b, *sum);
                }
            }
        }
    }
    sums
}

/// The greatest value of each column of `a·b` and the first row that has it, without storing the product.
/// Continues from the content of `best` and `at`; `at` counts rows from `first_row`.
pub(super) struct Greatest<'a> {
    pub depth: usize,
    /// Blocks of [`TALL`] rows, from [`pack_rows`].
    pub a: &'a [f32],
    /// Panels of [`PANEL`] columns one after the other, each `depth × PANEL`.
    pub b: &'a [f32],
    pub best: &'a mut [f32],
    pub at: &'a mut [f32],
    pub first_row: usize,
}

/// Columns of a packed panel: with 128 rows 16 KiB, half of the L1 cache.
pub(super) const PANEL: usize = 32;

/// Rows of a packed block.
pub(super) const TALL: usize = 12;

/// Packs rows of `depth` values of a matrix with rows of `step` into blocks of [`TALL`], column by column. The last
/// block is filled up with its last row, which changes neither a maximum nor its first row.
pub(super) fn pack_rows(rows: &[f32], step: usize, depth: usize, packed: &mut Vec<f32>) {
    packed.resize((rows.len() / step).next_multiple_of(TALL) * depth, 0.0);
    for (block, rows) in packed
        .chunks_exact_mut(TALL * depth)
        .zip(rows.chunks(TALL * step))
    {
        let last = rows.len() / step - 1;
        for r in 0..TALL {
            let row = &rows[r.min(last) * step..][..depth];
            for (to, &v) in block[r..].iter_mut().step_by(TALL).zip(row) {
                *to = v;
            }
        }
    }
}

impl Greatest<'_> {
    pub fn run(self) {
        let columns = self.best.len();
        assert!(self.depth > 0 && columns.is_multiple_of(PANEL) && self.at.len() == columns);
        assert!(self.b.len() == self.depth * columns);
        assert!(self.a.len().is_multiple_of(TALL * self.depth));
        dispatch(self);
    }
}

impl WithSimd for Greatest<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            depth,
            a,
            b,
            best,
            at,
            first_row,
        } = self;
        let panels = b
            .chunks_exact(depth * PANEL)
            .zip(best.chunks_exact_mut(PANEL))
            .zip(at.chunks_exact_mut(PANEL));
        for ((b, best), at) in panels {
            for (i, a) in a.chunks_exact(TALL * depth).enumerate() {
                let row = first_row + i * TALL;
                // SAFETY: `run` has checked the operands against the sizes.
                unsafe {
                    // The same number of sums as above; a panel has two vectors of 16 lanes.
                    if S::F32_LANES >= 16 {
                        greatest::<S, TALL, 2>(simd, depth, a, b, best, at, row, 0, 0);
                    } else if S::REGISTER_COUNT >= 32 {
                        for from in (0..PANEL).step_by(4 * S::F32_LANES) {
                            greatest::<S, 6, 4>(simd, depth, a, b, best, at, row, 0, from);
                            greatest::<S, 6, 4>(simd, depth, a, b, best, at, row, 6, from);
                        }
                    } else {
                        for from in (0..PANEL).step_by(2 * S::F32_LANES) {
                            greatest::<S, 6, 2>(simd, depth, a, b, best, at, row, 0, from);
                            greatest::<S, 6, 2>(simd, depth, a, b, best, at, row, 6, from);
                        }
                    }
                }
            }
        }
    }
}

/// H rows from `skip` on of one block, W vectors of columns from `from` on.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
unsafe fn greatest<S: Simd, const H: usize, const W: usize>(
    simd: S,
    depth: usize,
    a: &[f32],
    b: &[f32],
    best: &mut [f32],
    at: &mut [f32],
    row: usize,
    skip: usize,
    from: usize,
) {
    unsafe {
        let (a, b) = (a.as_ptr().add(skip), b.as_ptr().add(from));
        let sums = sums::<S, H, W>(simd, depth, a, (1, TALL), b, PANEL);
        for j in 0..W {
            let best = best.as_mut_ptr().add(from + j * S::F32_LANES).cast::<S::f32s>();
            let at = at.as_mut_ptr().add(from + j * S::F32_LANES).cast::<S::f32s>();
            let (mut top, mut index) = (best.read_unaligned(), at.read_unaligned());
            for (i, line) in sums.iter().enumerate() {
                let greater = simd.less_than_f32s(top, line[j]);
                top = simd.select_f32s(greater, line[j], top);
                index = simd.select_f32s(greater, simd.splat_f32s((row + skip + i) as f32), index);
            }
            best.write_unaligned(top);
            at.write_unaligned(index);
        }
    }
}
