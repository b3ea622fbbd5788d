//! Operands of 8 bits, and the terms of the bound.

use rayon::prelude::*;

use super::{HEIGHT, rounding};
use crate::kernels::maxima::PANEL;
use crate::kernels::vector;

/// The filter applies to sums of this many products: their integers are exact in f32 (255 · 127 · 512 < 2²⁴).
const DEPTHS: std::ops::RangeInclusive<usize> = 16..=512;

/// Magnitudes that the filter applies to. Inside this range neither the f32 sums nor the bound lose anything that matters
/// to underflow or overflow (NOTES.md).
const LEAST: f32 = 1.0 / (1_u64 << 40) as f32;
const MOST: f32 = (1_u64 << 40) as f32;

/// Covers the roundings of a norm in f32.
const UP: f32 = 1.0 + 1.0 / 4096.0;

/// Rows of non-negative values, rounded to steps of 0 to 255. Blocks consist of rows with greatest values of similar
/// magnitude, so that one scale suits all rows of a block, and so that the blocks of small rows can be left out.
#[derive(Default)]
pub struct Rows {
    /// The rows, dense.
    pub exact: Vec<f32>,
    /// Channels, a multiple of 16.
    pub depth: usize,
    /// The numbers of the rows in the order of the blocks; the last block is filled up with its last row.
    pub order: Vec<u32>,
    /// The rows in f32, blocks of `[depth, HEIGHT]`.
    pub packed: Vec<f32>,
    /// Blocks of `[depth / 4, HEIGHT, 4]`.
    pub steps: Vec<u8>,
    /// The value of a step, for each block.
    pub scale: Vec<f32>,
    /// The greatest E and A of each block's rows, in steps.
    pub error: Vec<f32>,
    pub size: Vec<f32>,
    /// The greatest value and the number of each row.
    pub tops: Vec<(u32, u32)>,
}

impl Rows {
    /// Rounds the rows in `exact`, of which there are `count`. Returns false if the filter does not apply to them.
    pub fn quantise(&mut self, count: usize) -> bool {
        self.depth = self.exact.len() / count;
        let depth = self.depth;
        if !DEPTHS.contains(&depth) || !depth.is_multiple_of(16) {
            return false;
        }
        let mut negative = 0;
        rounding::signs(&self.exact, &mut negative);
        self.tops.clear();
        for (r, row) in self.exact.chunks_exact(depth).enumerate() {
            let mut top = 0;
            vector::greatest_size(row, &mut top);
            self.tops.push((top, r as u32));
        }
        // The bits of non-negative numbers are in their order, and NaN is greater than all.
        self.tops.sort_unstable();
        let top = f32::from_bits(self.tops[count - 1].0);
        if negative != 0 || !(LEAST..=MOST).contains(&top) {
            return false;
        }
        let blocks = count.div_ceil(HEIGHT);
        self.tops.resize(blocks * HEIGHT, self.tops[count - 1]);
        self.order.clear();
        self.order.extend(self.tops.iter().map(|&(_, row)| row));
        self.steps.resize(blocks * HEIGHT * depth, 0);
        self.packed.resize(blocks * HEIGHT * depth, 0.0);
        self.scale.clear();
        self.error.clear();
        self.size.clear();
        // A block of values that are all tiny beside the others rounds to 0.
        let least = top / (1 << 20) as f32;
        for (b, order) in self.order.chunks_exact(HEIGHT).enumerate() {
            let scale = f32::from_bits(self.tops[(b + 1) * HEIGHT - 1].0).max(least) / 255.0;
            let rows: [&[f32]; HEIGHT] =
                std::array::from_fn(|r| &self.exact[order[r] as usize * depth..][..depth]);
            let of_block = b * HEIGHT * depth..(b + 1) * HEIGHT * depth;
            pack(&rows, &mut self.packed[of_block.clone()]);
            let steps = &mut self.steps[of_block];
            let (mut e, mut a) = (0.0_f32, 0.0_f32);
            for (r, row) in rows.iter().enumerate() {
                let mut norms = [0.0; 3];
                rounding::quantise(row, scale.recip(), &mut steps[4 * r..], 4 * HEIGHT, &mut norms);
                let (error, size) = terms(norms[0], norms[1], depth);
                (e, a) = (e.max(error), a.max(size));
            }
            self.scale.push(scale);
            self.error.push(e);
            self.size.push(a);
        }
        true
    }
}

/// Transposes a block to `[depth, HEIGHT]`.
fn pack(rows: &[&[f32]; HEIGHT], packed: &mut [f32]) {
    let (lines, _) = packed.as_chunks_mut::<HEIGHT>();
    for (k, line) in lines.iter_mut().enumerate() {
        for (to, row) in line.iter_mut().zip(rows) {
            *to = row[k];
        }
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
            scale: vec![0.0; columns],
            size: vec![0.0; columns],
            error: vec![0.0; columns],
            fits: vec![true; columns / PANEL],
            exact,
        };
        let panels = new.exact.par_chunks(PANEL * depth);
        panels
            .zip(new.steps.par_chunks_mut(PANEL * depth))
            .zip(new.scale.par_chunks_mut(PANEL))
            .zip(new.size.par_chunks_mut(PANEL))
            .zip(new.error.par_chunks_mut(PANEL))
            .zip(&mut new.fits)
            .for_each(|(((((exact, steps), scale), size), error), fits)| {
                let steps = bytemuck::cast_slice_mut(steps);
                for (c, column) in exact.chunks_exact(depth).enumerate() {
                    let Some(terms) = quantise(column, &mut steps[4 * c..]) else {
                        *fits = false;
                        return;
                    };
                    [scale[c], size[c], error[c]] = terms;
                }
            });
        new
    }
}

/// Rounds a column to its place in a panel. Returns t, W and D, which are 0 for a column of zeros, or `None` if the filter does not apply.
fn quantise(column: &[f32], steps: &mut [u8]) -> Option<[f32; 3]> {
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
    let mut norms = [0.0; 3];
    rounding::quantise(column, scale.recip(), steps, 4 * PANEL, &mut norms);
    let [error, _, size] = norms;
    // The two roundings of v/t.
    let error = error + size / (1 << 20) as f32;
    Some([scale, size * UP, error * UP])
}
