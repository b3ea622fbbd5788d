//! The greatest product of each cloud and channel, tile by tile, with the filter or without.

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::layer::Layer;
use super::tiles::{Blocks, Buffers, tiles};
use crate::kernels::filter::{self, Filter, Found};
use crate::kernels::maxima::{Greatest, PANEL, pack_rows};
use crate::kernels::vector;

/// The greatest product w_c·a of each cloud and channel, or the least if γ < 0, and its row: the first one if several
/// are equal. If γ = 0, returns 0 and the cloud's first row. NaN counts as the greatest value, as in PyTorch, so that
/// the maximum does not hide it.
pub fn greatest(source: &impl Blocks, clouds: &[Range<usize>], layer: &Layer) -> (Vec<f32>, Vec<u32>) {
    let n = layer.n;
    let operand = Operand::new(layer);
    let groups = groups(clouds, matches!(operand.signed, Signed::Filter(_)));
    let of_groups: Vec<(Vec<f32>, Vec<f32>)> = groups
        .par_iter()
        .map_init(Scratch::default, |scratch, (cloud, tiles)| {
            operand.greatest(source, tiles, clouds[*cloud].start, scratch)
        })
        .collect();
    let mut best = vec![f32::NEG_INFINITY; clouds.len() * n];
    let mut at = vec![0; clouds.len() * n];
    for ((cloud, _), (tops, rows)) in groups.into_iter().zip(of_groups) {
        for c in 0..n {
            let i = cloud * n + c;
            if exceeds(tops[c], best[i]) {
                best[i] = tops[c];
                at[i] = clouds[cloud].start as u32 + rows[c] as u32;
            }
        }
    }
    for (i, b) in best.iter_mut().enumerate() {
        if layer.gamma[i % n] < 0.0 {
            *b = -*b;
        }
        at[i] = at[i].max(clouds[i / n].start as u32);
    }
    (best, at)
}

/// A cloud, and tiles of it that follow each other, as first and end row.
type Group = (usize, Vec<Range<usize>>);

/// The tiles of all clouds, in groups for one task. The filter finds more to leave out in a large group, but there should
/// be tasks for every thread. The result does not depend on the groups.
fn groups(clouds: &[Range<usize>], filter: bool) -> Vec<Group> {
    let tiles = tiles(clouds);
    let most = if filter {
        (tiles.len() / (2 * rayon::current_num_threads())).clamp(1, 4)
    } else {
        1
    };
    let mut groups: Vec<Group> = Vec::new();
    for (cloud, from, to) in tiles {
        match groups.last_mut() {
            Some((of, group)) if *of == cloud && group.len() < most => group.push(from..to),
            _ => groups.push((cloud, std::iter::once(from..to).collect())),
        }
    }
    groups
}

/// The weight times the sign of γ (−1, 0 or 1).
struct Operand {
    k: usize,
    columns: usize,
    /// Column by column, `[columns, kp]`, with the 8-bit form if there is a filter.
    signed: Signed,
    /// Panels of [`PANEL`] columns, `[k, PANEL]` each; with a filter, made when they are first needed.
    panels: OnceLock<Vec<f32>>,
    /// The greatest magnitude in it.
    size: f64,
}

enum Signed {
    Exact(Vec<f32>),
    Filter(filter::Columns),
}

/// Buffers of one thread.
#[derive(Default)]
struct Scratch {
    buffers: Buffers,
    packed: Vec<f32>,
    rows: filter::Rows,
    search: filter::Scratch,
}

impl Operand {
    fn new(layer: &Layer) -> Self {
        let (n, k, kp) = (layer.n, layer.k, layer.kp);
        let columns = n.next_multiple_of(PANEL);
        let mut signed = vec![0.0; columns * kp];
        let weights = signed.chunks_exact_mut(kp).zip(layer.weight.chunks_exact(kp));
        for ((signed, weight), &gamma) in weights.zip(&layer.gamma).take(n) {
            let sign = match gamma {
                g if g < 0.0 => -1.0,
                0.0 => 0.0,
                _ => 1.0,
            };
            for (to, w) in signed.iter_mut().zip(weight) {
                *to = w * sign;
            }
        }
        let size = size(&signed);
        let filter = Filter::current() != Filter::Off;
        let new = Self {
            k,
            columns,
            signed: if filter {
                Signed::Filter(filter::Columns::new(signed, k, kp))
            } else {
                Signed::Exact(signed)
            },
            panels: OnceLock::new(),
            size,
        };
        if !filter {
            new.panels();
        }
        new
    }

    fn panels(&self) -> &[f32] {
        self.panels.get_or_init(|| {
            let signed = match &self.signed {
                Signed::Exact(signed) => signed,
                Signed::Filter(columns) => &columns.exact,
            };
            let kp = signed.len() / self.columns;
            let mut panels = vec![0.0; self.columns * self.k];
            // On this thread alone: a thread that waits for others could be given a task that waits for this.
            for (panel, signed) in panels
                .chunks_exact_mut(PANEL * self.k)
                .zip(signed.chunks_exact(PANEL * kp))
            {
                for (i, line) in panel.chunks_exact_mut(PANEL).enumerate() {
                    for (to, column) in line.iter_mut().zip(signed.chunks_exact(kp)) {
                        *to = column[i];
                    }
                }
            }
            panels
        })
    }

    /// The greatest product of each column over the rows of `tiles`, and its row, counted from row `start`.
    fn greatest(
        &self,
        source: &impl Blocks,
        tiles: &[Range<usize>],
        start: usize,
        scratch: &mut Scratch,
    ) -> (Vec<f32>, Vec<f32>) {
        let Scratch {
            buffers,
            packed,
            rows,
            search,
        } = scratch;
        let (mut best, mut at) = (vec![f32::NEG_INFINITY; self.columns], vec![0.0; self.columns]);
        let mut found = Found {
            best: &mut best,
            at: &mut at,
            first_row: tiles[0].start - start,
        };
        let Signed::Filter(filter) = &self.signed else {
            for tile in tiles {
                let a = source.block(tile.start, tile.end, buffers);
                found.first_row = tile.start - start;
                self.every_product(a, tile.len(), &mut found, packed);
            }
            return (best, at);
        };
        let (count, step) = (tiles.iter().map(Range::len).sum(), filter.depth);
        rows.exact.resize(count * step, 0.0);
        let mut rest = &mut rows.exact[..];
        for tile in tiles {
            let (out, after) = std::mem::take(&mut rest).split_at_mut(tile.len() * step);
            source.write(tile.start, tile.end, buffers, out);
            rest = after;
        }
        if self.may_overflow(&rows.exact) || !rows.quantise(count) {
            let mut rest = &rows.exact[..];
            for tile in tiles {
                let (a, after) = rest.split_at(tile.len() * step);
                rest = after;
                found.first_row = tile.start - start;
                self.every_product(a, tile.len(), &mut found, packed);
            }
            return (best, at);
        }
        filter::search(rows, filter, found, search);
        (best, at)
    }

    /// Searches `count` rows without the filter.
    fn every_product(&self, a: &[f32], count: usize, found: &mut Found, packed: &mut Vec<f32>) {
        let step = a.len() / count;
        let (best, at) = (&mut *found.best, &mut *found.at);
        if self.may_overflow(a) {
            careful(a, step, self.k, self.panels(), best, at, found.first_row);
            return;
        }
        pack_rows(a, step, self.k, packed);
        let first_row = found.first_row;
        self.packed_product(packed, self.panels(), Found { best, at, first_row });
    }

    fn packed_product(&self, packed: &[f32], panels: &[f32], found: Found) {
        Greatest {
            depth: self.k,
            a: packed,
            b: panels,
            best: found.best,
            at: found.at,
            first_row: found.first_row,
        }
        .run();
    }

    /// Below this bound no sum of products can overflow, so the fast loop need not check for infinity or NaN.
    fn may_overflow(&self, a: &[f32]) -> bool {
        let product = size(a) * self.size;
        product * self.k as f64 >= f64::from(f32::MAX) || product.is_nan()
    }
}

/// Whether `v` replaces `best`.
fn exceeds(v: f32, best: f32) -> bool {
    v > best || (v.is_nan() && !best.is_nan())
}

/// The greatest magnitude of any value; NaN if one is NaN.
fn size(values: &[f32]) -> f64 {
    let mut top = 0;
    vector::greatest_size(values, &mut top);
    f64::from(f32::from_bits(top))
}

/// Computes the same as [`Greatest`], more slowly, for values that may be infinite or NaN.
fn careful(
    rows: &[f32],
    step: usize,
    k: usize,
    panels: &[f32],
    best: &mut [f32],
    at: &mut [f32],
    first_row: usize,
) {
    for (r, row) in rows.chunks_exact(step).enumerate() {
        for (c, (best, at)) in best.iter_mut().zip(at.iter_mut()).enumerate() {
            let column = panels[c / PANEL * PANEL * k + c % PANEL..].iter().step_by(PANEL);
            let v = row[..k].iter().zip(column).map(|(a, w)| a * w).sum();
            if exceeds(v, *best) {
                (*best, *at) = (v, (first_row + r) as f32);
            }
        }
    }
}
