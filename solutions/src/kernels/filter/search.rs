//! The search in one group of rows.

use super::exact::Exact;
use super::operands::{Columns, Rows};
use super::{Filter, FilterCounts, HEIGHT, products, rounding};
use crate::kernels::maxima::{Found, PANEL};

/// Buffers of a search, one set for each thread.
#[derive(Default)]
pub struct Scratch {
    /// The greatest 8-bit product of each block and column, `[panels, blocks, PANEL]`.
    maxima: Vec<i32>,
    /// For each column the block with the greatest lower bound.
    likely: Vec<u32>,
    /// Blocks and columns to be computed in f32.
    pairs: Vec<[u32; 2]>,
    /// The columns of `pairs` in the order of the blocks, and where those of each block end.
    columns: Vec<u32>,
    ends: Vec<usize>,
}

/// Finds the greatest products over `rows`.
pub fn search(rows: &Rows, columns: &Columns, found: Found, scratch: &mut Scratch) {
    let (blocks, panels) = (rows.scale.len(), columns.fits.len());
    let Found { best, at, first_row } = found;
    best.fill(f32::NEG_INFINITY);
    scratch.maxima.resize(panels * blocks * PANEL, 0);
    scratch.likely.clear();
    let mut counts = FilterCounts {
        maxima: (panels * PANEL) as u64,
        ..FilterCounts::default()
    };
    let (blocks, panels) = (0..blocks as u32, 0..panels);
    for panel in panels.clone() {
        if columns.fits[panel] {
            likely_blocks(rows, columns, panel, scratch);
            continue;
        }
        counts.fallbacks += PANEL as u64;
        scratch.likely.extend([0; PANEL]);
        let all = |c| blocks.clone().map(move |b| [b, c]);
        let of_panel = (panel * PANEL) as u32..((panel + 1) * PANEL) as u32;
        scratch.pairs.extend(of_panel.flat_map(all));
    }
    let without = counts.fallbacks * u64::from(blocks.end);
    counts.candidates += exact(rows, columns, best, at, scratch) - without * HEIGHT as u64;
    for panel in panels.filter(|&panel| columns.fits[panel]) {
        other_blocks(rows, columns, panel, best, at, scratch);
    }
    counts.candidates += exact(rows, columns, best, at, scratch);
    at.iter_mut().for_each(|at| *at += first_row as f32);
    counts.publish();
}

/// Finds for each column of a panel the block that probably holds the greatest product.
fn likely_blocks(rows: &Rows, columns: &Columns, panel: usize, scratch: &mut Scratch) {
    let (first, size) = (panel * PANEL, rows.scale.len() * PANEL);
    let steps = &columns.steps[first * columns.depth..][..PANEL * columns.depth];
    let maxima = &mut scratch.maxima[panel * size..][..size];
    products::maxima(Filter::current(), &rows.steps, steps, maxima);
    let (mut low, mut likely) = ([f32::NEG_INFINITY; PANEL], [0.0; PANEL]);
    rounding::lower_bounds(
        maxima,
        [&rows.scale, &rows.error, &rows.size],
        [&columns.size[first..], &columns.error[first..]],
        &mut low,
        &mut likely,
    );
    for (c, block) in likely.into_iter().enumerate() {
        scratch.likely.push(block as u32);
        scratch.pairs.push([block as u32, (first + c) as u32]);
    }
}

/// Finds for each column of a panel the other blocks that may hold a product as great as the greatest one so far.
fn other_blocks(
    rows: &Rows,
    columns: &Columns,
    panel: usize,
    best: &[f32],
    at: &mut [f32],
    scratch: &mut Scratch,
) {
    let (first, size) = (panel * PANEL, rows.scale.len() * PANEL);
    let mut threshold = [f32::INFINITY; PANEL];
    for c in 0..PANEL {
        let (scale, best) = (columns.scale[first + c], best[first + c]);
        if scale > 0.0 {
            let value = best / scale;
            threshold[c] = value - value.abs() / (1 << 20) as f32;
        } else {
            // The products of a column of zeros are equal, and the first row has the greatest.
            at[first + c] = 0.0;
        }
    }
    let maxima = &scratch.maxima[panel * size..][..size];
    for (word, maxima) in maxima.chunks(32 * PANEL).enumerate() {
        let mut reaching = [0; PANEL];
        rounding::reaching(
            maxima,
            [&rows.scale, &rows.error, &rows.size].map(|of| &of[32 * word..]),
            [&columns.size[first..], &columns.error[first..]],
            &threshold,
            &mut reaching,
        );
        for (c, mut bits) in reaching.into_iter().enumerate() {
            let known = scratch.likely[first + c];
            if known as usize / 32 == word {
                bits &= !(1 << (known % 32));
            }
            while bits != 0 {
                let block = (32 * word) as u32 + bits.trailing_zeros();
                scratch.pairs.push([block, (first + c) as u32]);
                bits &= bits - 1;
            }
        }
    }
}

/// Computes the pairs in f32, block by block, and removes them. Returns the number of products.
fn exact(rows: &Rows, columns: &Columns, best: &mut [f32], at: &mut [f32], scratch: &mut Scratch) -> u64 {
    let Scratch {
        pairs,
        columns: of,
        ends,
        ..
    } = scratch;
    ends.clear();
    ends.resize(rows.scale.len(), 0);
    for [b, _] in &*pairs {
        ends[*b as usize] += 1;
    }
    // Where the columns of each block begin; each column moves this on by one, to the end at last.
    let mut from = 0;
    for end in &mut *ends {
        from += std::mem::replace(end, from);
    }
    of.resize(pairs.len(), 0);
    for [b, c] in &*pairs {
        let to = &mut ends[*b as usize];
        of[*to] = *c;
        *to += 1;
    }
    let mut from = 0;
    for (block, &end) in ends.iter().enumerate() {
        let of = &of[from..end];
        Exact {
            rows,
            columns,
            block,
            of,
            best,
            at,
        }
        .run();
        from = end;
    }
    let count = (pairs.len() * HEIGHT) as u64;
    pairs.clear();
    count
}
