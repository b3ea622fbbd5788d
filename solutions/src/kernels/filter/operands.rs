//! Operands of 8 bits, and the terms of the bound.

use rayon::prelude::*;

use super::rounding;
use crate::kernels::tile::PANEL;
use crate::kernels::vector;

/// Rows of a block.
pub const HEIGHT: usize = 16;

/// The filter applies to sums of this many products: their integers are exact in f32 (255 · 127 · 512 < 2²⁴).
const DEPTHS: std::ops::RangeInclusive<usize> = 16..=512;

/// Magnitudes that the filter applies to. Inside this range neither the f32 sums nor the bound lose anything that matters
/// to underflow or overflow (NOTES.md).
const LEAST: f32 = 1.0 / (1_u64 << 40) as f32;
const MOST: f32 = (1_u64 << 40) as f32;

/// Covers the roundings of a norm in f32.
const UP: f32 = 1.0 + 1.0 / 4096.0;

/// Rows of non-negative values, rounded to steps of 0 to 255.
#[derive(Default)]
pub struct Rows {
    /// The rows, dense; the last block is filled up with the last row.
    pub exact: Vec<f32>,
    /// Rows without those that fill the last block up.
    pub count: usize,
    /// Channels, a multiple of 16.
    pub depth: usize,
    /// Blocks of `[depth / 4, HEIGHT, 4]`.
    pub steps: Vec<u8>,
    /// The value of a step, for each block.
    pub scale: Vec<f32>,
    /// For each row E and A, in steps.
    pub error: Vec<f32>,
    pub size: Vec<f32>,
    /// The greatest E and A of each block.
    pub block_error: Vec<f32>,
    pub block_size: Vec<f32>,
}

impl Rows {
    /// Rounds the rows in `exact`, of which there are `count`. Returns false if the filter does not apply to them.
    pub fn quantise(&mut self, count: usize) -> bool {
        self.count = count;
        self.depth = self.exact.len() / count;
        let depth = self.depth;
        if !DEPTHS.contains(&depth) || !depth.is_multiple_of(16) {
            return false;
        }
        let blocks = count.div_ceil(HEIGHT);
        for _ in count..blocks * HEIGHT {
            self.exact.extend_from_within((count - 1) * depth..count * depth);
        }
        self.scale.clear();
        let mut negative = 0;
        for block in self.exact.chunks_exact(HEIGHT * depth) {
            let mut top = 0;
            vector::greatest_size(block, &mut top);
            rounding::signs(block, &mut negative);
            self.scale.push(f32::from_bits(top));
        }
        let top = self.scale.iter().fold(0.0_f32, |top, &s| top.max(s));
        let known = self.scale.iter().all(|s| !s.is_nan());
        if negative != 0 || !known || !(LEAST..=MOST).contains(&top) {
            return false;
        }
        self.steps.resize(self.exact.len(), 0);
        self.error.resize(blocks * HEIGHT, 0.0);
        self.size.resize(blocks * HEIGHT, 0.0);
        self.block_error.clear();
        self.block_size.clear();
        // A block of values that are all tiny beside the others rounds to 0.
        let least = top / (1 << 20) as f32;
        for (b, rows) in self.exact.chunks_exact(HEIGHT * depth).enumerate() {
            let scale = self.scale[b].max(least) / 255.0;
            self.scale[b] = scale;
            let of_block = b * HEIGHT..(b + 1) * HEIGHT;
            let (error, size) = (&mut self.error[of_block.clone()], &mut self.size[of_block]);
            let steps = &mut self.steps[b * HEIGHT * depth..][..HEIGHT * depth];
            rounding::quantise(rows, depth, scale.recip(), steps, error, size);
            for (e, a) in error.iter_mut().zip(size.iter_mut()) {
                (*e, *a) = terms(*e, *a, depth);
            }
            let greatest = |of: &[f32]| of.iter().fold(0.0, |top: f32, &v| top.max(v));
            self.block_error.push(greatest(error));
            self.block_size.push(greatest(size));
        }
        true
    }
}

/// E and A of a row, from ‖a/s − q‖ and ‖q‖ as rounded in f32: E contains what the f32 sum of `depth` products and the
/// bound itself lose to rounding. NOTES.md counts it.
fn terms(error: f32, size: f32, depth: usize) -> (f32, f32) {
    let rounding = (depth + 64) as f32 / (1 << 24) as f32;
    let size = size * UP;
    let error = (error + rounding * (size + error)) * UP + 1.0 / (1 << 20) as f32;
    (error, size)
}

/// The columns of the right operand, rounded to steps of −127 to 127, in panels of [`PANEL`].
pub struct Columns {
    /// The products of a sum; the depth without padding.
    pub terms: usize,
    /// The depth, padded to a multiple of 16 with zeros.
    pub depth: usize,
    /// Panels of `[depth / 4, PANEL, 4]`.
    pub steps: Vec<i8>,
    /// The same, column by column.
    pub by_column: Vec<i8>,
    /// The columns in f32, `[columns, depth]`.
    pub exact: Vec<f32>,
    /// The value t of a step; 0 for a column of zeros.
    pub scale: Vec<f32>,
    /// W and D of each column, in steps.
    pub size: Vec<f32>,
    pub error: Vec<f32>,
    /// For each panel, whether the filter applies to all its columns.
    pub fits: Vec<bool>,
}

impl Columns {
    /// Rounds columns of `terms` values padded to `depth`, given column by column. Their number is a multiple of
    /// [`PANEL`].
    pub fn new(exact: Vec<f32>, terms: usize, depth: usize) -> Self {
        let columns = exact.len() / depth;
        let mut new = Self {
            terms,
            depth,
            steps: vec![0; exact.len()],
            by_column: vec![0; exact.len()],
            scale: vec![0.0; columns],
            size: vec![0.0; columns],
            error: vec![0.0; columns],
            fits: vec![true; columns / PANEL],
            exact,
        };
        let panels = new.exact.par_chunks(PANEL * depth);
        panels
            .zip(new.steps.par_chunks_mut(PANEL * depth))
            .zip(new.by_column.par_chunks_mut(PANEL * depth))
            .zip(new.scale.par_chunks_mut(PANEL))
            .zip(new.size.par_chunks_mut(PANEL))
            .zip(new.error.par_chunks_mut(PANEL))
            .zip(&mut new.fits)
            .for_each(|((((((exact, steps), by_column), scale), size), error), fits)| {
                for c in 0..PANEL {
                    let (exact, column) =
                        (&exact[c * depth..][..depth], &mut by_column[c * depth..][..depth]);
                    let Some(terms) = quantise(exact, column) else {
                        *fits = false;
                        return;
                    };
                    [scale[c], size[c], error[c]] = terms;
                    for (to, four) in steps.chunks_exact_mut(4 * PANEL).zip(column.chunks_exact(4)) {
                        to[4 * c..][..4].copy_from_slice(four);
                    }
                }
            });
        new
    }
}

/// Rounds a column. Returns t, W and D, which are 0 for a column of zeros, or `None` if the filter does not apply.
fn quantise(column: &[f32], steps: &mut [i8]) -> Option<[f32; 3]> {
    let mut top = 0;
    vector::greatest_size(column, &mut top);
    let top = f32::from_bits(top);
    if top == 0.0 {
        return Some([0.0; 3]);
    }
    if !(LEAST..=MOST).contains(&top) {
        return None;
    }
    let scale = top / 127.0;
    let mut norms = [0.0; 2];
    rounding::quantise_column(column, scale.recip(), steps, &mut norms);
    let [error, size] = norms;
    // The two roundings of v/t.
    let error = error + size / (1 << 20) as f32;
    Some([scale, size * UP, error * UP])
}
