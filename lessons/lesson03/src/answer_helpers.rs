//! Right answers with switches, from which the known mistakes are built: each switch turns on one mistake.

#![allow(clippy::type_complexity, reason = "a signature is clearest written out")]

mod groups;
mod pool;

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use anyhow::{Result, anyhow};
use candle_core::{Device, Tensor, bail};
use canopy::loader::Batch;
use canopy_data::{Philox, sample::Subsample};

use crate::{Make, REFERENCE, Take};

pub use groups::{by_plot_by_tree, hung, parents, passed_on, relabelled};
pub use pool::*;

/// A shuffle by `swap(random, i, n)`: where place i goes, from the last to the first.
pub fn shuffled(n: usize, random: &mut Philox, partner: impl Fn(&mut Philox, usize) -> usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        let j = partner(random, i);
        order.swap(i, j);
    }
    order
}

/// Fisher and Yates over any stream of chance.
pub fn order_by(n: usize, mut random: Philox) -> Vec<usize> {
    shuffled(n, &mut random, |r, i| r.below(i + 1))
}

/// Draws with replacement.
pub fn drawn(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let mut random = Philox::new(seed, epoch);
    (0..n).map(|_| random.below(n)).collect()
}

/// 0..n sorted by keys below `range`.
pub fn by_keys(n: usize, range: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let mut random = Philox::new(seed, epoch);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_cached_key(|_| random.below(range));
    order
}

/// 0..n sorted by a key from the stream of each.
pub fn by_shifted_keys(n: usize, stream: impl Fn(u64) -> Philox) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_cached_key(|&i| stream(i as u64).next_u64());
    order
}

/// At most n of the items.
pub fn first(n: usize, mut items: Vec<usize>) -> Vec<usize> {
    items.truncate(n);
    items
}

/// The least of some distances.
pub fn least(chosen: &[usize], to: impl Fn(usize) -> f32) -> f32 {
    chosen.iter().map(|&j| to(j)).fold(f32::INFINITY, f32::min)
}

/// What a search for a farthest point gives when all are chosen.
#[derive(Clone, Copy)]
pub enum NoneLeft {
    Again,
    Unwrapped,
    NoIndex,
}

/// Farthest points that go on when all are chosen.
pub fn more_than_all(points: &[[f32; 3]], what: Subsample, seed: u64, next: NoneLeft) -> Vec<usize> {
    let mut kept = (REFERENCE.subsample)(points, what, seed);
    if let Subsample::Farthest(n) = what
        && !points.is_empty()
        && n > kept.len()
    {
        let found = match next {
            NoneLeft::Again => Some(0),
            NoneLeft::Unwrapped => None,
            NoneLeft::NoIndex => {
                std::hint::black_box(points[usize::MAX]);
                None
            }
        };
        #[allow(clippy::unwrap_used, reason = "the message of a student's panic")]
        kept.resize(n, found.unwrap());
    }
    kept
}

/// One way of taking fewer points is wrong, the others are canopy's.
pub fn only(
    points: &[[f32; 3]],
    what: Subsample,
    seed: u64,
    random: Option<fn(usize, usize, Philox) -> Vec<usize>>,
    voxel: Option<fn(&[[f32; 3]], f32) -> Vec<usize>>,
    farthest: Option<fn(&[[f32; 3]], usize, usize) -> Vec<usize>>,
) -> Vec<usize> {
    match (what, random, voxel, farthest) {
        (Subsample::Random(n), Some(f), _, _) => f(points.len(), n, Philox::new(seed, 0)),
        (Subsample::Voxel(edge), _, Some(f), _) => f(points, edge),
        (Subsample::Farthest(n), _, _, Some(f)) if !points.is_empty() && n > 0 => {
            let first = Philox::new(seed, 0).below(points.len());
            f(points, n.min(points.len()), first)
        }
        _ => (REFERENCE.subsample)(points, what, seed),
    }
}

/// The first point of each cube, cubes being what `cube` says.
pub fn firsts<K: Eq + std::hash::Hash>(points: &[[f32; 3]], cube: impl Fn(&[f32; 3]) -> K) -> Vec<usize> {
    let mut seen = HashSet::new();
    (0..points.len())
        .filter(|&i| seen.insert(cube(&points[i])))
        .collect()
}

pub fn apart(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum()
}

/// `n` points from `first` on: each time the free point with the greatest `score(i, chosen)`, of equals the first, or
/// with `last` the last.
pub fn greedy(
    points: &[[f32; 3]],
    n: usize,
    first: usize,
    last: bool,
    score: impl Fn(usize, &[usize]) -> f32,
) -> Vec<usize> {
    let mut chosen = vec![first];
    while chosen.len() < n {
        let mut best: Option<(f32, usize)> = None;
        for i in (0..points.len()).filter(|i| !chosen.contains(i)) {
            let s = score(i, &chosen);
            if best.is_none_or(|(b, _)| s > b || (last && s == b)) {
                best = Some((s, i));
            }
        }
        chosen.extend(best.map(|b| b.1));
    }
    chosen.truncate(n);
    chosen
}

/// The distance to the nearest chosen point.
pub fn nearest(points: &[[f32; 3]], i: usize, chosen: &[usize]) -> f32 {
    let to = chosen.iter().map(|&j| apart(points[i], points[j]));
    to.fold(f32::INFINITY, f32::min)
}

/// What a collate may do differently.
#[derive(Clone, Copy)]
pub struct Collate {
    /// How wide a row is.
    pub width: fn(&[Vec<[f32; 3]>]) -> usize,
    /// Where cloud i begins in a row of so many points.
    pub begins: fn(&[Vec<[f32; 3]>], usize, usize) -> usize,
    /// The mask of what is real, and of what is not.
    pub marks: (f32, f32),
    /// How many points of a cloud the mask marks, in a row of so many points.
    pub real: fn(usize, usize) -> usize,
    /// The coordinates of the padding.
    pub padding: f32,
    /// Padding repeats the last point.
    pub repeats: bool,
    /// Rejects clouds without points.
    pub refuses: bool,
}

pub const COLLATE: Collate = Collate {
    width: |clouds| clouds.iter().map(Vec::len).max().unwrap_or(0),
    begins: |_, i, width| i * width,
    marks: (1.0, 0.0),
    real: |points, width| points.min(width),
    padding: 0.0,
    repeats: false,
    refuses: true,
};

pub fn collated(
    clouds: &[Vec<[f32; 3]>],
    device: &Device,
    c: Collate,
) -> candle_core::Result<(Tensor, Tensor)> {
    if c.refuses && (clouds.is_empty() || clouds.iter().any(Vec::is_empty)) {
        bail!("nothing to learn from");
    }
    let width = (c.width)(clouds);
    let mut points = vec![[c.padding; 3]; clouds.len() * width];
    let mut mask = vec![c.marks.1; clouds.len() * width];
    for (i, cloud) in clouds.iter().enumerate() {
        let from = (c.begins)(clouds, i, width);
        for at in 0..if c.repeats { width } else { cloud.len().min(width) } {
            points[from + at] = cloud[at.min(cloud.len() - 1)];
        }
        mask[from..from + (c.real)(cloud.len(), width)].fill(c.marks.0);
    }
    Ok((
        Tensor::from_vec(points.into_flattened(), (clouds.len(), width, 3), device)?,
        Tensor::from_vec(mask, (clouds.len(), width), device)?,
    ))
}

/// Buckets by two rules: which bucket a record goes into, and how many fill it.
pub fn bucketed(
    order: &[usize],
    buckets: usize,
    full: usize,
    bucket: impl Fn(usize) -> Option<usize>,
) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let (out, mut filling) = bucketed_all(order, buckets, full, bucket);
    filling.retain(|left| !left.is_empty());
    (out, filling)
}

/// [`bucketed`], with the rest of every bucket, also of those that are empty.
pub fn bucketed_all(
    order: &[usize],
    buckets: usize,
    full: usize,
    bucket: impl Fn(usize) -> Option<usize>,
) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let (mut filling, mut out) = (vec![Vec::new(); buckets], Vec::new());
    for &r in order {
        let Some(b) = bucket(r) else { continue };
        filling[b].push(r);
        if filling[b].len() == full {
            out.push(std::mem::take(&mut filling[b]));
        }
    }
    (out, filling)
}

/// The bucket as in a right answer.
pub fn bucket(lengths: &[usize], bounds: &[usize], r: usize) -> usize {
    bounds.iter().filter(|&&b| b < lengths[r]).count()
}

/// Groups by uniting whatever `same` says, several times over or once, numbered as they first come.
pub fn grouped(n: usize, rounds: usize, same: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut group: Vec<usize> = (0..n).collect();
    for _ in 0..rounds {
        let before = group.clone();
        for i in 0..n {
            for j in 0..i {
                if same(i, j) {
                    let least = group[i].min(group[j]);
                    (group[i], group[j]) = (least, least);
                }
            }
        }
        if group == before {
            break;
        }
    }
    numbered(&group)
}

/// Groups in one pass: a record enters the group of its tree, or else of its plot, or the other way round.
/// `latest`: the map keeps the group that a name came with last.
pub fn entered(trees: &[&str], plots: &[&str], tree_first: bool, latest: bool) -> Vec<usize> {
    let (mut of_tree, mut of_plot) = (HashMap::new(), HashMap::new());
    let mut groups = 0usize;
    let mut enter = |i: usize| {
        let (tree, plot) = (of_tree.get(trees[i]), of_plot.get(plots[i]));
        let known = if tree_first { tree.or(plot) } else { plot.or(tree) }.copied();
        let group = known.unwrap_or(groups);
        groups += usize::from(known.is_none());
        if latest || !of_tree.contains_key(trees[i]) {
            of_tree.insert(trees[i], group);
        }
        if !plots[i].is_empty() && (latest || !of_plot.contains_key(plots[i])) {
            of_plot.insert(plots[i], group);
        }
        group
    };
    (0..trees.len()).map(&mut enter).collect()
}

/// 0, 1, 2 … in the order in which they first come.
pub fn numbered<T: PartialEq>(group: &[T]) -> Vec<usize> {
    let mut seen: Vec<&T> = Vec::new();
    let number = |g| {
        seen.iter().position(|&s| s == g).unwrap_or_else(|| {
            seen.push(g);
            seen.len() - 1
        })
    };
    group.iter().map(number).collect()
}
