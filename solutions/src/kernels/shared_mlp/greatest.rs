//! The greatest product of each cloud and channel, tile by tile, with the filter or without.

use std::ops::Range;

use candle_core::Result;
use rayon::prelude::*;

use super::layer::Layer;
use crate::kernels::Filter;
use crate::kernels::filter;
use crate::kernels::maxima::{Found, Greatest, PANEL, TALL, pack_rows};
use crate::kernels::vector;

/// The rows of a tile: the points of a cloud are divided into tiles of equal length, at most 264 rows (22 register
/// tiles).
fn tile_rows(points: usize) -> usize {
    points.div_ceil(points.div_ceil(264)).next_multiple_of(TALL)
}

/// The rows of all clouds in groups of `most` tiles, with the number of the cloud.
pub fn tiles(clouds: &[Range<usize>], most: usize) -> Vec<(usize, Range<usize>)> {
    let of_cloud = |(c, rows): (usize, &Range<usize>)| {
        let (group, end) = (most * tile_rows(rows.len()), rows.end);
        let starts = rows.clone().step_by(group);
        starts.map(move |from| (c, from..end.min(from + group)))
    };
    clouds.iter().enumerate().flat_map(of_cloud).collect()
}

/// The greatest product w_c·a of each cloud and channel, or the least if γ < 0, and its row: the first one if several
/// are equal. If γ = 0, returns 0 and the cloud's first row. NaN counts as the greatest value, as in PyTorch, so that
/// the maximum does not hide it. `write(from, to, buffers, out)` writes padded rows of the layer's input.
pub fn greatest<B: Default>(
    write: impl Fn(usize, usize, &mut B, &mut [f32]) + Sync,
    clouds: &[Range<usize>],
    layer: &Layer,
) -> Result<(Vec<f32>, Vec<u32>)> {
    let n = layer.n;
    let operand = Columns::new(layer)?;
    // The filter finds more to leave out in a large group, but there should be tasks for every thread. The result does not
    // depend on the groups.
    let most = match &operand.filter {
        Some(_) => (tiles(clouds, 1).len() / (2 * rayon::current_num_threads())).clamp(1, 4),
        None => 1,
    };
    let groups = tiles(clouds, most);
    let of_groups: Vec<(Vec<f32>, Vec<f32>)> = groups
        .par_iter()
        .map_init(
            || (B::default(), Scratch::default()),
            |(buffers, scratch), (cloud, rows)| {
                scratch.rows.exact.resize(rows.len() * layer.kp, 0.0);
                write(rows.start, rows.end, buffers, &mut scratch.rows.exact);
                let cloud = &clouds[*cloud];
                operand.greatest(
                    rows.len(),
                    tile_rows(cloud.len()),
                    rows.start - cloud.start,
                    scratch,
                )
            },
        )
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
    Ok((best, at))
}

/// The weight times the sign of γ (−1, 0 or 1), column by column.
struct Columns {
    k: usize,
    /// Panels of [`PANEL`] columns, `[k, PANEL]` each.
    panels: Vec<f32>,
    /// The 8-bit form, if there is a filter.
    filter: Option<filter::Columns>,
    /// The greatest magnitude.
    size: f64,
}

/// Buffers of one thread.
#[derive(Default)]
struct Scratch {
    packed: Vec<f32>,
    rows: filter::Rows,
    search: filter::Scratch,
}

impl Columns {
    fn new(layer: &Layer) -> Result<Self> {
        let (n, k, kp) = (layer.n, layer.k, layer.kp);
        let mut signed = vec![0.0; n.next_multiple_of(PANEL) * kp];
        let weight = layer.weight()?;
        let weights = signed.chunks_exact_mut(kp).zip(weight.chunks_exact(kp));
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
        let mut panels = vec![0.0; signed.len() / kp * k];
        let each = panels
            .par_chunks_mut(PANEL * k)
            .zip(signed.par_chunks(PANEL * kp));
        each.for_each(|(panel, signed)| {
            for (i, line) in panel.chunks_exact_mut(PANEL).enumerate() {
                for (to, column) in line.iter_mut().zip(signed.chunks_exact(kp)) {
                    *to = column[i];
                }
            }
        });
        Ok(Self {
            k,
            panels,
            size: size(&signed),
            filter: (Filter::current() != Filter::Off).then(|| filter::Columns::new(signed, k, kp)),
        })
    }

    /// The greatest product of each column over the `count` rows in `scratch`, and its row. The rows are in tiles of `tile`
    /// and are counted from `first_row`.
    fn greatest(
        &self,
        count: usize,
        tile: usize,
        first_row: usize,
        scratch: &mut Scratch,
    ) -> (Vec<f32>, Vec<f32>) {
        let Scratch { packed, rows, search } = scratch;
        let columns = self.panels.len() / self.k;
        let (mut best, mut at) = (vec![f32::NEG_INFINITY; columns], vec![0.0; columns]);
        if let Some(filter) = &self.filter
            && !self.may_overflow(&rows.exact)
            && rows.quantise(count)
        {
            let (best, at) = (&mut best[..], &mut at[..]);
            filter::search(rows, filter, Found { best, at, first_row }, search);
        } else {
            let step = rows.exact.len() / count;
            for (i, rows) in rows.exact.chunks(tile * step).enumerate() {
                let (best, at) = (&mut best[..], &mut at[..]);
                let first_row = first_row + i * tile;
                let found = Found { best, at, first_row };
                if self.may_overflow(rows) {
                    self.careful(rows, step, found);
                    continue;
                }
                pack_rows(rows, step, self.k, packed);
                let (depth, a, b) = (self.k, &packed[..], &self.panels[..]);
                Greatest { depth, a, b, found }.run();
            }
        }
        (best, at)
    }

    /// Computes the same as [`Greatest`], more slowly, for values that may be infinite or NaN.
    fn careful(&self, rows: &[f32], step: usize, found: Found) {
        let k = self.k;
        for (r, row) in rows.chunks_exact(step).enumerate() {
            let of_columns = found.best.iter_mut().zip(&mut *found.at);
            for (c, (best, at)) in of_columns.enumerate() {
                let column = &self.panels[c / PANEL * PANEL * k + c % PANEL..];
                let products = row[..k].iter().zip(column.iter().step_by(PANEL));
                let v = products.map(|(a, w)| a * w).sum();
                if exceeds(v, *best) {
                    (*best, *at) = (v, (found.first_row + r) as f32);
                }
            }
        }
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
