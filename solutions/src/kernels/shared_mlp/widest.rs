//! The last layer before a maximum. Its activation, the widest of the network, is never stored.
//!
//! Let A be the layer's input with M rows, ā the mean of its rows, and Ac the input minus ā. The statistics of the
//! product A·Wᵀ follow from S = AcᵀAc: channel c has mean w_c·ā and variance w_cᵀ(S/M)w_c, where w_c is row c of W. The
//! product is computed tile by tile. Of each cloud and channel, only the greatest value (the least if γ < 0) and its
//! row are kept. The backward pass needs no more (see `backward_max`).

use std::ops::Range;
use std::sync::OnceLock;

use candle_core::Result;
use rayon::prelude::*;

use super::Batch;
use super::layer::{BLOCK, Layer, Source, group_rows};
use crate::kernels::filter::{self, Filter, Found};
use crate::kernels::ranks::total;
use crate::kernels::tile::{Greatest, Left, PANEL, Product, TALL, pack_rows};
use crate::kernels::vector;

/// What the backward pass of the maximum needs.
pub struct Widest {
    /// The rows of each cloud.
    pub clouds: Vec<Range<usize>>,
    /// Normalised value at the arg-max, `[clouds, n]`.
    pub xhat: Vec<f32>,
    /// Row of the arg-max, counted from the first row of this rank's batch, `[clouds, n]`.
    pub at: Vec<u32>,
    /// W·S, `[np, kp]`.
    pub ws: Vec<f32>,
    /// ā, over the rows of all ranks, `[kp]`.
    pub mean: Vec<f32>,
}

/// The rows of a layer's input, dense and padded. Rows `from..to` are read or computed when `block` is called.
pub trait Blocks: Sync {
    fn block<'b>(&'b self, from: usize, to: usize, scratch: &'b mut [Vec<f32>; 2]) -> &'b [f32];

    /// Writes the rows to `out`.
    fn write(&self, from: usize, to: usize, scratch: &mut [Vec<f32>; 2], out: &mut [f32]) {
        out.copy_from_slice(self.block(from, to, scratch));
    }
}

impl Blocks for Source<'_> {
    fn block<'b>(&'b self, from: usize, to: usize, scratch: &'b mut [Vec<f32>; 2]) -> &'b [f32] {
        Source::block(self, from, to, &mut scratch[0])
    }

    fn write(&self, from: usize, to: usize, scratch: &mut [Vec<f32>; 2], out: &mut [f32]) {
        match self {
            Source::Layer(l) => l.activate(from, to, out),
            Source::Input { .. } => out.copy_from_slice(self.block(from, to, &mut scratch[0])),
        }
    }
}

/// The rows of a tile: the points of a cloud are divided into tiles of equal length, at most 264 rows (22 register
/// tiles).
pub fn tile_rows(points: usize) -> usize {
    points.div_ceil(points.div_ceil(264)).next_multiple_of(TALL)
}

/// The tiles of all clouds, as (cloud, first row, end row).
pub fn tiles(clouds: &[Range<usize>]) -> Vec<(usize, usize, usize)> {
    let of_cloud = |(c, rows): (usize, &Range<usize>)| {
        let (tile, end) = (tile_rows(rows.len()), rows.end);
        let starts = rows.clone().step_by(tile);
        starts.map(move |from| (c, from, end.min(from + tile)))
    };
    clouds.iter().enumerate().flat_map(of_cloud).collect()
}

pub fn forward(
    source: Source,
    batch: &Batch,
    clouds: Vec<Range<usize>>,
    layer: &mut Layer,
) -> Result<(Vec<f32>, Widest)> {
    let (n, kp, rows) = (layer.n, layer.kp, batch.rows);
    let (mean, s) = about_the_mean_of_all(batch, covariance(source, rows, kp))?;
    let ws = times_weight(layer, &s);
    let (means, vars): (Vec<f64>, Vec<f64>) = (0..n)
        .into_par_iter()
        .map(|c| {
            let w = &layer.weight[c * kp..][..kp];
            let dot = |v: &[f32]| {
                v.iter()
                    .zip(w)
                    .map(|(&v, &w)| f64::from(v) * f64::from(w))
                    .sum::<f64>()
            };
            (dot(&mean), dot(&ws[c * kp..][..kp]).max(0.0))
        })
        .unzip();
    let mut vars = vars;
    total(batch.sums.as_ref(), &mut vars)?;
    vars.iter_mut().for_each(|v| *v /= batch.all_rows);
    layer.set_statistics(&means, &vars);

    let (best, at) = greatest(&source, &clouds, layer);
    let mut xhat = best;
    let mut output = vec![0.0; clouds.len() * n];
    for (cloud, (xhat, output)) in xhat
        .chunks_exact_mut(n)
        .zip(output.chunks_exact_mut(n))
        .enumerate()
    {
        for c in 0..n {
            if layer.gamma[c] == 0.0 {
                xhat[c] = at_row(
                    source,
                    at[cloud * n + c] as usize,
                    &layer.weight[c * kp..][..layer.k],
                );
            }
            xhat[c] = (xhat[c] - layer.mean[c]) * layer.rstd[c];
            let v = xhat[c] * layer.gamma[c] + layer.beta[c];
            output[c] = if layer.relu && v < 0.0 { 0.0 } else { v };
        }
    }
    let widest = Widest {
        clouds,
        xhat,
        at,
        ws,
        mean,
    };
    Ok((output, widest))
}

/// The mean over the rows of all ranks, and this rank's S about that mean: S + M·d·dᵀ, where M is the number of this
/// rank's rows and d the difference between its own mean and that of all ranks.
fn about_the_mean_of_all(batch: &Batch, (own, mut s): (Vec<f32>, Vec<f32>)) -> Result<(Vec<f32>, Vec<f32>)> {
    if batch.sums.is_none() {
        return Ok((own, s));
    }
    let rows = batch.rows as f64;
    let mut sums: Vec<f64> = own.iter().map(|&m| rows * f64::from(m)).collect();
    total(batch.sums.as_ref(), &mut sums)?;
    let mean: Vec<f64> = sums.iter().map(|s| s / batch.all_rows).collect();
    let off: Vec<f64> = own
        .iter()
        .zip(&mean)
        .map(|(&own, all)| f64::from(own) - all)
        .collect();
    for (line, d) in s.chunks_exact_mut(own.len()).zip(&off) {
        for (s, e) in line.iter_mut().zip(&off) {
            *s += (rows * d * e) as f32;
        }
    }
    Ok((mean.into_iter().map(|m| m as f32).collect(), s))
}

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
    layers: [Vec<f32>; 2],
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
            layers,
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
                let a = source.block(tile.start, tile.end, layers);
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
            source.write(tile.start, tile.end, layers, out);
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
        packed.clear();
        filter::search(rows, filter, found, search, |panel, found| {
            if packed.is_empty() {
                pack_rows(&rows.exact[..count * step], step, self.k, packed);
            }
            let size = PANEL * self.k;
            self.packed_product(packed, &self.panels()[panel * size..][..size], found);
        });
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

fn at_row(source: Source, row: usize, w: &[f32]) -> f32 {
    let mut scratch = Vec::new();
    let a = source.block(row, row + 1, &mut scratch);
    a.iter().zip(w).map(|(a, w)| a * w).sum()
}

/// Sums over one group of rows: `s` for each product of two channels, `sum` for each channel.
struct Products {
    s: Vec<f32>,
    sum: Vec<f32>,
}

/// The mean of each input channel, and S, the sum over rows of the products of the deviations from the mean, `[kp, kp]`.
fn covariance(source: Source, rows: usize, kp: usize) -> (Vec<f32>, Vec<f32>) {
    let mut scratch = Vec::new();
    let first = source.block(0, rows.min(BLOCK), &mut scratch);
    // An estimate of the mean is subtracted before squaring, so that no digits are lost if the mean is far from 0.
    let mut near = vec![0.0; kp];
    vector::column_sums(first, &mut near);
    let count = (first.len() / kp) as f32;
    near.iter_mut().for_each(|m| *m /= count);

    let group = group_rows(rows);
    let groups: Vec<Products> = (0..rows.div_ceil(group))
        .into_par_iter()
        .map_init(
            || (Vec::new(), Vec::new()),
            |(scratch, centred), g| {
                let (mut s, mut sum) = (vec![0.0; kp * kp], vec![0.0; kp]);
                for from in (g * group..rows.min((g + 1) * group)).step_by(BLOCK) {
                    let to = rows.min((g + 1) * group).min(from + BLOCK);
                    centred.resize((to - from) * kp, 0.0);
                    vector::centre(centred, source.block(from, to, scratch), &near);
                    vector::column_sums(centred, &mut sum);
                    Product::new([kp, to - from, kp], Left::transpose(centred, kp), centred, &mut s)
                        .add()
                        .upper()
                        .run();
                }
                Products { s, sum }
            },
        )
        .collect();
    let m = rows as f64;
    let total =
        |i: usize, pick: fn(&Products) -> &[f32]| groups.iter().map(|g| f64::from(pick(g)[i])).sum::<f64>();
    let off: Vec<f64> = (0..kp).map(|i| total(i, |g| &g.sum) / m).collect();
    let mean = (0..kp).map(|i| (f64::from(near[i]) + off[i]) as f32).collect();
    let mut s = vec![0.0; kp * kp];
    s.par_chunks_mut(kp).enumerate().for_each(|(i, line)| {
        // On and right of the diagonal, in the order of the groups.
        let mut sums = vec![-0.0; kp - i];
        for group in &groups {
            vector::add_wide(&mut sums, &group.s[i * kp + i..][..kp - i]);
        }
        for (j, sum) in (i..).zip(sums) {
            line[j] = (sum - m * off[i] * off[j]) as f32;
        }
    });
    for i in 1..kp {
        for j in 0..i {
            s[i * kp + j] = s[j * kp + i];
        }
    }
    (mean, s)
}

/// W·S, `[np, kp]`.
fn times_weight(layer: &Layer, s: &[f32]) -> Vec<f32> {
    const ROWS: usize = 48;
    let kp = layer.kp;
    let mut ws = vec![0.0; layer.np * kp];
    ws.par_chunks_mut(ROWS * kp).enumerate().for_each(|(i, ws)| {
        Product::new(
            [ws.len() / kp, kp, kp],
            Left::dense(&layer.weight[i * ROWS * kp..], kp),
            s,
            ws,
        )
        .run();
    });
    ws
}
