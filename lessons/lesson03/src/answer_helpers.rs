//! Right answers with switches, from which the known mistakes are built: each switch turns on one mistake.

#![allow(clippy::type_complexity, reason = "a signature is clearest written out")]

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, mpsc},
    thread,
};

use anyhow::{Result, anyhow};
use candle_core::{Device, Tensor, bail};
use canopy::loader::Batch;
use canopy_data::{Philox, sample::Subsample};

use crate::{Make, REFERENCE, Take};

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
        (Subsample::Farthest(n), _, _, Some(f)) if !points.is_empty() => {
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
    /// Padding repeats the last point.
    pub repeats: bool,
    /// Rejects clouds without points.
    pub refuses: bool,
}

pub const COLLATE: Collate = Collate {
    width: |clouds| clouds.iter().map(Vec::len).max().unwrap_or(0),
    begins: |_, i, width| i * width,
    marks: (1.0, 0.0),
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
    let mut points = vec![[0f32; 3]; clouds.len() * width];
    let mut mask = vec![c.marks.1; clouds.len() * width];
    for (i, cloud) in clouds.iter().enumerate() {
        let from = (c.begins)(clouds, i, width);
        for at in 0..if c.repeats { width } else { cloud.len().min(width) } {
            points[from + at] = cloud[at.min(cloud.len() - 1)];
        }
        mask[from..from + cloud.len().min(width)].fill(c.marks.0);
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
    let (mut filling, mut out) = (vec![Vec::new(); buckets], Vec::new());
    for &r in order {
        let Some(b) = bucket(r) else { continue };
        filling[b].push(r);
        if filling[b].len() == full {
            out.push(std::mem::take(&mut filling[b]));
        }
    }
    filling.retain(|left| !left.is_empty());
    (out, filling)
}

/// The bucket as in a right answer.
pub fn bucket(lengths: &[usize], bounds: &[usize], r: usize) -> usize {
    bounds.iter().filter(|&&b| b < lengths[r]).count()
}

/// Switches of the workers. None of them hangs.
#[derive(Clone, Copy)]
pub struct Pool {
    /// Gives results in their order, not as they come.
    pub ordered: bool,
    /// Sends no more than may be in progress.
    pub bounded: bool,
    /// How many threads work.
    pub threads: fn(usize) -> usize,
    /// How often something is made, where the first time is an error.
    pub tries: usize,
    /// Keeps the lock on the jobs while it makes something.
    pub locks: bool,
    /// What becomes of an error: given, passed over, the end.
    pub on_error: OnError,
    /// What becomes of a panic.
    pub on_panic: OnError,
    /// Ends where `take` says so.
    pub stops: bool,
    /// One job is made whatever the count.
    pub at_least_one: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub enum OnError {
    Give,
    Skip,
    End,
}

pub const POOL: Pool = Pool {
    ordered: true,
    bounded: true,
    threads: |workers| workers,
    tries: 1,
    locks: false,
    on_error: OnError::Give,
    on_panic: OnError::Give,
    stops: true,
    at_least_one: false,
};

const PANICKED: &str = "it panicked";

/// A pool over the standard library's channels.
pub fn pooled(count: usize, workers: usize, ahead: usize, make: Make, take: Take, pool: Pool) {
    let (jobs, todo) = mpsc::channel::<usize>();
    let (done, results) = mpsc::channel::<(usize, Result<Batch>)>();
    let todo = Mutex::new(todo);
    let lock = || todo.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let one = |i: usize| {
        let mut made = Err(anyhow!("never made"));
        for _ in 0..pool.tries {
            made = catch_unwind(AssertUnwindSafe(|| make(i))).unwrap_or_else(|_| Err(anyhow!(PANICKED)));
            if made.is_ok() {
                break;
            }
        }
        made
    };
    thread::scope(|scope| {
        for _ in 0..(pool.threads)(workers) {
            let done = done.clone();
            scope.spawn(move || {
                loop {
                    let held = lock();
                    let Ok(i) = held.recv() else { return };
                    let held = pool.locks.then_some(held);
                    let made = one(i);
                    drop(held);
                    if done.send((i, made)).is_err() {
                        return;
                    }
                }
            });
        }
        let jobs = jobs;
        let (mut sent, mut early) = (0, HashMap::new());
        if pool.at_least_one && count == 0 {
            let _ = make(0);
        }
        let mut ended = false;
        for i in 0..count {
            while sent < count && (!pool.bounded || sent < i + ahead) {
                let _ = jobs.send(sent);
                sent += 1;
            }
            // As they come where every even one is slow: so it is wrong in the same way at each run.
            let turn = if pool.ordered || ahead < 2 || (i | 1) >= count {
                i
            } else {
                i ^ 1
            };
            while !early.contains_key(&turn) {
                let Ok((k, made)) = results.recv() else { return };
                early.insert(k, made);
            }
            let made = early.remove(&turn);
            let Some(made) = made else { return };
            if let Err(e) = &made {
                let panicked = e.to_string() == PANICKED;
                match if panicked { pool.on_panic } else { pool.on_error } {
                    OnError::Skip => continue,
                    OnError::End => ended = true,
                    OnError::Give => {}
                }
            }
            let more = take(made);
            if ended || (pool.stops && !more) {
                return;
            }
        }
    });
}

/// Groups by uniting whatever `same` says, several times over or once, numbered as they first come.
pub fn grouped(n: usize, rounds: usize, same: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut group: Vec<usize> = (0..n).collect();
    for _ in 0..rounds {
        for i in 0..n {
            for j in 0..i {
                if same(i, j) {
                    let least = group[i].min(group[j]);
                    (group[i], group[j]) = (least, least);
                }
            }
        }
    }
    numbered(&group)
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
