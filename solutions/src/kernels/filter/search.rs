//! The search in one group of rows.

use super::blocks::{Multiply, Pair, Portable};
use super::choice::Filter;
use super::counts::FilterCounts;
use super::operands::{Columns, HEIGHT, Rows};
use crate::kernels::tile::PANEL;
use crate::kernels::vector;

/// The greatest product of each column, and its row; the first one if several are equal.
pub struct Found<'a> {
    pub best: &'a mut [f32],
    /// Rows, counted from `first_row`.
    pub at: &'a mut [f32],
    pub first_row: usize,
}

/// Buffers of a search, one set for each thread.
#[derive(Default)]
pub struct Scratch {
    maxima: Vec<i32>,
    upper: Vec<f32>,
    masks: Vec<u32>,
    /// The rows and columns to be computed in f32, and the results.
    pairs: Vec<(u32, u32)>,
    products: Vec<f32>,
}

/// Finds the greatest products over `rows`, and calls `fallback` with each panel of columns that the filter leaves out.
pub fn search(
    rows: &Rows,
    columns: &Columns,
    found: Found,
    scratch: &mut Scratch,
    fallback: impl FnMut(usize, Found),
) {
    #[cfg(target_arch = "x86_64")]
    if Filter::current() == Filter::Vnni {
        // SAFETY: `Vnni` is current only if the machine has its instructions.
        return unsafe { vnni(rows, columns, found, scratch, fallback) };
    }
    // SAFETY: `Portable` has no special instructions.
    unsafe { panels::<Portable>(rows, columns, found, scratch, fallback) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx512vnni")]
unsafe fn vnni(
    rows: &Rows,
    columns: &Columns,
    found: Found,
    scratch: &mut Scratch,
    fallback: impl FnMut(usize, Found),
) {
    // SAFETY: the caller vouches for the instructions.
    unsafe { panels::<super::blocks::Vnni>(rows, columns, found, scratch, fallback) }
}

/// # Safety
/// The machine has the instructions of `M`.
#[inline(always)]
unsafe fn panels<M: Multiply>(
    rows: &Rows,
    columns: &Columns,
    found: Found,
    scratch: &mut Scratch,
    mut fallback: impl FnMut(usize, Found),
) {
    let mut counts = FilterCounts::default();
    let panels = found
        .best
        .chunks_exact_mut(PANEL)
        .zip(found.at.chunks_exact_mut(PANEL));
    for (panel, (best, at)) in panels.enumerate() {
        let mut found = Found {
            best,
            at,
            first_row: found.first_row,
        };
        counts.maxima += PANEL as u64;
        // SAFETY: the caller's.
        match unsafe { one_panel::<M>(rows, columns, panel, &mut found, scratch) } {
            Some(candidates) => counts.candidates += candidates,
            None => {
                counts.fallbacks += PANEL as u64;
                found.best.fill(f32::NEG_INFINITY);
                found.at.fill(0.0);
                fallback(panel, found);
            }
        }
    }
    counts.publish();
}

/// Finds the greatest products of one panel's columns. Returns the number of f32 products, or `None` if the filter leaves
/// the panel out.
///
/// # Safety
/// The machine has the instructions of `M`.
#[inline(always)]
unsafe fn one_panel<M: Multiply>(
    rows: &Rows,
    columns: &Columns,
    panel: usize,
    found: &mut Found,
    scratch: &mut Scratch,
) -> Option<u64> {
    if !columns.fits[panel] {
        return None;
    }
    let first = panel * PANEL;
    let depth = columns.depth;
    let blocks = rows.scale.len();
    let of_panel = |values: &'_ [f32]| -> [f32; PANEL] { std::array::from_fn(|c| values[first + c]) };
    let (size, error, scale) = (
        of_panel(&columns.size),
        of_panel(&columns.error),
        of_panel(&columns.scale),
    );
    scratch.maxima.resize(blocks * PANEL, 0);
    scratch.upper.resize(blocks * PANEL, 0.0);
    scratch.masks.resize(blocks, 0);
    // SAFETY: `maxima` has PANEL entries for each block; the rest is the caller's.
    unsafe {
        let panel = &columns.steps[first * depth..][..PANEL * depth];
        M::maxima(&rows.steps, panel, &mut scratch.maxima);
    }
    // The block with the greatest lower bound.
    let mut low = [f32::NEG_INFINITY; PANEL];
    let mut lowest = [0.0; PANEL];
    vector::block_bounds(
        &scratch.maxima,
        [&rows.scale, &rows.block_error, &rows.block_size],
        [&size, &error],
        &mut scratch.upper,
        &mut low,
        &mut lowest,
    );

    // Of that block, the row with the greatest lower bound, in f32. The rows that fill the last block up repeat its last.
    let pair = |b: usize, c: usize| Pair {
        rows: &rows.steps[b * HEIGHT * depth..][..HEIGHT * depth],
        scale: rows.scale[b],
        error: &rows.error[b * HEIGHT..][..HEIGHT],
        size: &rows.size[b * HEIGHT..][..HEIGHT],
        column: &columns.by_column[(first + c) * depth..][..depth],
        column_size: size[c],
        column_error: error[c],
    };
    scratch.pairs.clear();
    for c in 0..PANEL {
        let b = lowest[c] as usize;
        // SAFETY: the caller's; the operands have the sizes.
        let row = b * HEIGHT + unsafe { M::likely_row(&pair(b, c)) };
        scratch.pairs.push((row.min(rows.count - 1) as u32, c as u32));
    }
    // SAFETY: the caller's.
    unsafe { exact::<M>(rows, columns, first, scratch) };
    let mut threshold = [f32::INFINITY; PANEL];
    for c in 0..PANEL {
        found.best[c] = scratch.products[c];
        found.at[c] = (found.first_row as u32 + scratch.pairs[c].0) as f32;
        if scale[c] > 0.0 {
            let value = scratch.products[c] / scale[c];
            threshold[c] = value - value.abs() / (1 << 20) as f32;
        } else {
            // All products of a column of zeros are equal.
            found.at[c] = found.first_row as f32;
        }
    }
    let first_pairs: [u32; PANEL] = std::array::from_fn(|c| scratch.pairs[c].0);

    // All other rows whose upper bound is not below that.
    scratch.pairs.clear();
    vector::reaching(&scratch.upper, &threshold, &mut scratch.masks);
    let reaching: u32 = scratch.masks.iter().map(|m| m.count_ones()).sum();
    if reaching as usize * 4 > blocks * PANEL && blocks > 8 {
        return None;
    }
    for (b, &mask) in scratch.masks.iter().enumerate() {
        let mut left = mask;
        let present = u32::MAX >> (32 - HEIGHT.min(rows.count - b * HEIGHT));
        while left != 0 {
            let c = left.trailing_zeros() as usize;
            left &= left - 1;
            // SAFETY: the caller's; the operands have the sizes.
            let mut rows = unsafe { M::reaching(&pair(b, c), threshold[c]) } & present;
            while rows != 0 {
                let row = (b * HEIGHT) as u32 + rows.trailing_zeros();
                rows &= rows - 1;
                if row != first_pairs[c] {
                    scratch.pairs.push((row, c as u32));
                }
            }
        }
    }
    if scratch.pairs.len() * 5 > rows.count * PANEL && blocks > 8 {
        return None;
    }
    // SAFETY: the caller's.
    unsafe { exact::<M>(rows, columns, first, scratch) };
    for (&(row, c), &value) in scratch.pairs.iter().zip(&scratch.products) {
        let (c, row) = (c as usize, (found.first_row as u32 + row) as f32);
        let (best, at) = (&mut found.best[c], &mut found.at[c]);
        if value > *best || (value == *best && row < *at) {
            (*best, *at) = (value, row);
        }
    }
    Some((PANEL + scratch.pairs.len()) as u64)
}

/// Computes `products` of all `pairs` in f32.
///
/// # Safety
/// The machine has the instructions of `M`.
#[inline(always)]
unsafe fn exact<M: Multiply>(rows: &Rows, columns: &Columns, first: usize, scratch: &mut Scratch) {
    scratch.products.clear();
    for pairs in scratch.pairs.chunks(16) {
        let row = |i: usize| {
            let (row, _) = pairs[i.min(pairs.len() - 1)];
            rows.exact[row as usize * rows.depth..][..rows.depth].as_ptr()
        };
        let column = |i: usize| {
            let (_, c) = pairs[i.min(pairs.len() - 1)];
            columns.exact[(first + c as usize) * columns.depth..][..columns.depth].as_ptr()
        };
        // SAFETY: rows and columns have `depth` values, a multiple of 16 that is not below `terms`.
        let sums = unsafe {
            M::exact(
                columns.terms,
                &std::array::from_fn(row),
                &std::array::from_fn(column),
            )
        };
        scratch.products.extend_from_slice(&sums[..pairs.len()]);
    }
}
