//! The search in one group of rows.

use super::blocks::{Block, Multiply, Portable};
use super::counts::FilterCounts;
use super::operands::{Columns, HEIGHT, Rows};
use super::rounding;
use crate::kernels::tile::PANEL;

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
    /// The value in f32 that a row must reach, for each column.
    threshold: Vec<f32>,
    /// The columns of each panel that a block may hold the greatest product of, `[blocks, panels]`.
    masks: Vec<u32>,
    /// Those of one block.
    columns: Vec<u32>,
    /// The rows and columns to be computed in f32, and the results.
    pairs: [Vec<u32>; 2],
    products: Vec<f32>,
    /// The rows of one block, as the products in f32 need them.
    prepared: Vec<f32>,
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
    if super::Filter::current() == super::Filter::Vnni {
        // SAFETY: `Vnni` is current only if the machine has its instructions.
        return unsafe { vnni(rows, columns, found, scratch, fallback) };
    }
    // SAFETY: `Portable` has no special instructions.
    unsafe { both_passes::<Portable>(rows, columns, found, scratch, fallback) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx512vnni,popcnt")]
unsafe fn vnni(
    rows: &Rows,
    columns: &Columns,
    found: Found,
    scratch: &mut Scratch,
    fallback: impl FnMut(usize, Found),
) {
    // SAFETY: the caller vouches for the instructions.
    unsafe { both_passes::<super::vnni::Vnni>(rows, columns, found, scratch, fallback) }
}

/// # Safety
/// The machine has the instructions of `M`.
#[inline(always)]
unsafe fn both_passes<M: Multiply>(
    rows: &Rows,
    columns: &Columns,
    found: Found,
    scratch: &mut Scratch,
    mut fallback: impl FnMut(usize, Found),
) {
    let (blocks, panels) = (rows.scale.len(), columns.fits.len());
    scratch.maxima.resize(blocks * PANEL, 0);
    scratch.upper.resize(blocks * PANEL, 0.0);
    scratch.threshold.resize(panels * PANEL, 0.0);
    scratch.masks.clear();
    scratch.masks.resize(blocks * panels, 0);
    let Found { best, at, first_row } = found;
    let mut counts = FilterCounts {
        maxima: (panels * PANEL) as u64,
        ..FilterCounts::default()
    };
    for panel in 0..panels {
        let range = panel * PANEL..(panel + 1) * PANEL;
        let (best, at) = (&mut best[range.clone()], &mut at[range]);
        // SAFETY: the caller's.
        if unsafe { first_pass::<M>(rows, columns, panel, best, at, scratch) } {
            counts.candidates += PANEL as u64;
            continue;
        }
        counts.fallbacks += PANEL as u64;
        best.fill(f32::NEG_INFINITY);
        at.fill(first_row as f32);
        fallback(panel, Found { best, at, first_row });
        // The second pass compares rows of the group.
        at.iter_mut().for_each(|at| *at -= first_row as f32);
    }
    // SAFETY: the caller's.
    counts.candidates += unsafe { second_pass::<M>(rows, columns, best, at, scratch) };
    at.iter_mut().for_each(|at| *at += first_row as f32);
    counts.publish();
}

/// Finds for each column of a panel one product that is probably the greatest, and the blocks that may hold a greater one.
/// Returns false if those are too many, or if the filter does not apply to the panel.
///
/// # Safety
/// The machine has the instructions of `M`.
#[inline(always)]
unsafe fn first_pass<M: Multiply>(
    rows: &Rows,
    columns: &Columns,
    panel: usize,
    best: &mut [f32],
    at: &mut [f32],
    scratch: &mut Scratch,
) -> bool {
    if !columns.fits[panel] {
        return false;
    }
    let (first, panels) = (panel * PANEL, columns.fits.len());
    // SAFETY: `maxima` has PANEL entries for each block; the rest is the caller's.
    unsafe {
        let steps = &columns.steps[first * columns.depth..][..PANEL * columns.depth];
        M::maxima(&rows.steps, steps, &mut scratch.maxima);
    }
    let (mut low, mut block) = ([f32::NEG_INFINITY; PANEL], [0.0; PANEL]);
    rounding::block_bounds(
        &scratch.maxima,
        [&rows.scale, &rows.block_error, &rows.block_size],
        [&columns.size[first..], &columns.error[first..]],
        &mut scratch.upper,
        &mut low,
        &mut block,
    );
    // Of the block with the greatest lower bound, the row with the greatest lower bound. The rows that fill the last block
    // up repeat its last.
    let likely: [usize; PANEL] = std::array::from_fn(|c| {
        let block = block[c] as usize;
        // SAFETY: the caller's.
        let row = unsafe { M::likely_row(Block { rows, columns, block }, first + c) };
        (block * HEIGHT + row).min(rows.count - 1)
    });
    let pairs: [[_; 2]; PANEL] = std::array::from_fn(|c| {
        let row = rows.exact[likely[c] * rows.depth..][..rows.depth].as_ptr();
        let column = columns.exact[(first + c) * columns.depth..][..columns.depth].as_ptr();
        [row, column]
    });
    let of = |operand: usize| -> [[_; 16]; PANEL / 16] {
        std::array::from_fn(|n| std::array::from_fn(|i| pairs[16 * n + i][operand]))
    };
    // SAFETY: rows and columns have `depth` values, a multiple of 16 that is not below `terms`.
    let products = unsafe { M::exact(columns.terms, &of(0), &of(1)) };
    let mut threshold = [f32::INFINITY; PANEL];
    for c in 0..PANEL {
        let scale = columns.scale[first + c];
        (best[c], at[c]) = (products[c / 16][c % 16], 0.0);
        // The products of a column of zeros are equal, and the first row has the greatest.
        if scale > 0.0 {
            at[c] = likely[c] as f32;
            let value = best[c] / scale;
            threshold[c] = value - value.abs() / (1 << 20) as f32;
        }
    }
    scratch.threshold[first..][..PANEL].copy_from_slice(&threshold);
    let (upper, _) = scratch.upper.as_chunks::<PANEL>();
    let mut reaching = 0;
    for (b, upper) in upper.iter().enumerate() {
        // SAFETY: the caller's.
        let mask = unsafe { M::not_below(upper, &threshold) };
        reaching += mask.count_ones() as usize;
        scratch.masks[b * panels + panel] = mask;
    }
    // So many products in f32 take longer than all of them.
    let pays = reaching * 4 <= upper.len() * PANEL * 3 || upper.len() <= 8;
    if !pays {
        scratch.masks[panel..]
            .iter_mut()
            .step_by(panels)
            .for_each(|m| *m = 0);
    }
    pays
}

/// Computes the products in f32 of all rows that may have the greatest one, block by block. Returns their number.
///
/// # Safety
/// The machine has the instructions of `M`.
#[inline(always)]
unsafe fn second_pass<M: Multiply>(
    rows: &Rows,
    columns: &Columns,
    best: &mut [f32],
    at: &mut [f32],
    scratch: &mut Scratch,
) -> u64 {
    let mut candidates = 0;
    for (b, masks) in scratch.masks.chunks_exact(columns.fits.len()).enumerate() {
        let block = Block {
            rows,
            columns,
            block: b,
        };
        let first = (b * HEIGHT) as u32;
        let present = u32::MAX >> (32 - HEIGHT.min(rows.count - b * HEIGHT));
        scratch.columns.clear();
        for (panel, &mask) in masks.iter().enumerate() {
            for half in [0, 16] {
                // SAFETY: the caller's.
                unsafe {
                    append::<M>(
                        (mask >> half) as u16,
                        (panel * PANEL + half) as u32,
                        &mut scratch.columns,
                    )
                };
            }
        }
        let [pair_rows, pair_columns] = &mut scratch.pairs;
        pair_rows.clear();
        pair_columns.clear();
        for some in scratch.columns.chunks(4) {
            let four: [usize; 4] = std::array::from_fn(|i| some[i.min(some.len() - 1)] as usize);
            // SAFETY: the caller's.
            let reaching = unsafe { M::reaching(block, four, four.map(|c| scratch.threshold[c])) };
            for (&c, reaching) in some.iter().zip(reaching) {
                // Of the greatest value so far, the row is known already.
                let known = 1_u32
                    .checked_shl((at[c as usize] as u32).wrapping_sub(first))
                    .unwrap_or(0);
                let mask = (reaching & present & !known) as u16;
                // SAFETY: the caller's.
                unsafe { append::<M>(mask, 0, pair_rows) };
                pair_columns.extend_from_slice(&[c; 16]);
                pair_columns.truncate(pair_rows.len());
            }
        }
        if pair_rows.is_empty() {
            continue;
        }
        candidates += pair_rows.len() as u64;
        scratch.products.clear();
        // SAFETY: the caller's. Rows and columns have `depth` values, a multiple of 16 that is not below `terms`.
        unsafe {
            M::prepare(block, &mut scratch.prepared);
            for (rows, columns) in pair_rows.chunks(32).zip(pair_columns.chunks(32)) {
                let products = &mut scratch.products;
                match rows.len() {
                    ..=16 => exact_in_block::<M, 1>(block, &scratch.prepared, rows, columns, products),
                    _ => exact_in_block::<M, 2>(block, &scratch.prepared, rows, columns, products),
                }
            }
        }
        for ((&row, &c), &value) in pair_rows.iter().zip(&*pair_columns).zip(&scratch.products) {
            let (row, best, at) = ((first + row) as f32, &mut best[c as usize], &mut at[c as usize]);
            if value > *best || (value == *best && row < *at) {
                (*best, *at) = (value, row);
            }
        }
    }
    candidates
}

/// Appends `first` plus the position of each set bit. Without a branch for each, because they cannot be predicted.
///
/// # Safety
/// The machine has the instructions of `M`.
#[inline(always)]
unsafe fn append<M: Multiply>(mask: u16, first: u32, to: &mut Vec<u32>) {
    let count = to.len() + mask.count_ones() as usize;
    // SAFETY: the caller's.
    to.extend_from_slice(&unsafe { M::positions(mask) }.map(|i| first + i));
    to.truncate(count);
}

/// Appends the products in f32 of up to N times 16 pairs of a row of the block and a column.
///
/// # Safety
/// As for `Multiply::exact_in_block`.
#[inline(always)]
unsafe fn exact_in_block<M: Multiply, const N: usize>(
    block: Block,
    prepared: &[f32],
    rows: &[u32],
    columns: &[u32],
    products: &mut Vec<f32>,
) {
    let at = |n: usize, i: usize| (16 * n + i).min(rows.len() - 1);
    let of_rows = std::array::from_fn(|n| std::array::from_fn(|i| rows[at(n, i)]));
    let of_columns =
        std::array::from_fn(|n| std::array::from_fn(|i| block.exact_column(columns[at(n, i)] as usize)));
    // SAFETY: the caller's.
    let all: [[f32; 16]; N] = unsafe { M::exact_in_block(block, prepared, &of_rows, &of_columns) };
    products.extend_from_slice(&all.as_flattened()[..rows.len()]);
}
