//! Lesson 03: the third hint of each exercise, completed as a student does who has no other idea.

use std::{
    collections::{HashMap, HashSet},
    panic,
    sync::{Mutex, mpsc},
    thread,
};

use anyhow::{Result, anyhow};
use candle_core::{Device, Tensor, bail};
use canopy::loader::Batch;
use canopy_data::{Philox, sample::Subsample};

/// The order in which epoch `epoch` visits the records 0, 1, … n − 1: each once, in random order. `n` may be 0.
///
/// The order depends only on `n`, `seed` and `epoch`, so that an interrupted epoch can be resumed. Every order is
/// equally likely, as far as `Philox` allows. Each pair of seed and epoch, however large, has an order that is
/// independent of all others: seed 5 in epoch 1 has nothing to do with seed 6 in epoch 0. A late epoch takes no longer
/// than the first.
/// `Philox::new(seed, stream)` gives independent random numbers for every pair of the two; `below(n)` draws from 0..n.
pub fn epoch_order(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut random = Philox::new(seed, epoch);
    for i in (1..n).rev() {
        order.swap(i, random.below(i + 1));
    }
    order
}

/// The indices of the points that are kept of a cloud. No index occurs twice, and the same `seed` gives the same
/// indices in the same order. Coordinates are between −10⁷ and 10⁷; f32 is precise enough. The cloud may be empty, and
/// n may be 0.
///
/// - `Random(n)`: n of the points, in any order. Every set of n points is equally likely. If there are no more than n
///   points, all of them.
/// - `Voxel(edge)`: one point, of your choice, of each cube that contains points, with ascending indices. Space is
///   divided into cubes of `edge` metres (at least 0.001), with a corner of one cube at the origin. Cube k along an
///   axis goes from k·edge (included) to (k + 1)·edge (excluded).
/// - `Farthest(n)`: the first point is chosen by `seed`, and every point can be the first. Each next one is the point
///   whose distance to the nearest chosen point is the greatest; of equally far points the one with the lower index,
///   even if that distance is 0. They are in the order in which they were chosen. If there are no more than n points,
///   all of them, in any order.
pub fn subsample(points: &[[f32; 3]], what: Subsample, seed: u64) -> Vec<usize> {
    match what {
        Subsample::Random(n) => {
            let n = n.min(points.len());
            let mut random = Philox::new(seed, 0);
            let mut all: Vec<usize> = (0..points.len()).collect();
            for i in 0..n {
                let j = i + random.below(points.len() - i);
                all.swap(i, j);
            }
            all.truncate(n);
            all
        }
        Subsample::Voxel(edge) => {
            let mut cubes = HashSet::new();
            let mut kept = Vec::new();
            for (i, point) in points.iter().enumerate() {
                let cube = point.map(|c| (c / edge).floor() as i64);
                if cubes.insert(cube) {
                    kept.push(i);
                }
            }
            kept
        }
        Subsample::Farthest(n) => {
            let n = n.min(points.len());
            let mut chosen = Vec::new();
            if n == 0 {
                return chosen;
            }
            let mut next = Philox::new(seed, 0).below(points.len());
            let mut distance = vec![f32::INFINITY; points.len()];
            for _ in 0..n {
                chosen.push(next);
                distance[next] = -1.0;
                let p = points[next];
                let mut best = next;
                for (i, q) in points.iter().enumerate() {
                    if distance[i] >= 0.0 {
                        let d = (0..3).map(|k| (p[k] - q[k]) * (p[k] - q[k])).sum();
                        distance[i] = distance[i].min(d);
                    }
                    if distance[i] > distance[best] {
                        best = i;
                    }
                }
                next = best;
            }
            chosen
        }
    }
}

/// A batch of clouds of different lengths: points `[clouds, longest, 3]` and mask `[clouds, longest]`, both f32 and on
/// `device`.
///
/// The points of a cloud, all finite, come first in its row, unchanged and in their order, followed by padding at the
/// origin. The mask is 1 for a point, wherever it is, and 0 for padding. Returns an error for a cloud without points,
/// and for a batch without clouds.
pub fn collate_ragged(clouds: &[Vec<[f32; 3]>], device: &Device) -> candle_core::Result<(Tensor, Tensor)> {
    if clouds.is_empty() {
        bail!("the batch has no clouds");
    }
    if let Some(i) = clouds.iter().position(Vec::is_empty) {
        bail!("cloud {i} has no points");
    }
    let longest = clouds.iter().map(Vec::len).max().unwrap_or(0);
    let mut points = vec![0f32; clouds.len() * longest * 3];
    let mut mask = vec![0f32; clouds.len() * longest];
    for (i, cloud) in clouds.iter().enumerate() {
        let from = i * longest;
        let to = from + cloud.len();
        points[3 * from..3 * to].copy_from_slice(cloud.as_flattened());
        mask[from..to].fill(1.0);
    }
    Ok((
        Tensor::from_vec(points, (clouds.len(), longest, 3), device)?,
        Tensor::from_vec(mask, (clouds.len(), longest), device)?,
    ))
}

/// Divides the `order` of an epoch into batches of records of similar length, so that little is padded.
///
/// Visit the records as `order` lists them; it may leave out some, but lists none twice. Record r, with `lengths[r]`
/// points, goes into the first bucket whose bound is at least its length; a record longer than all bounds goes into an
/// additional last bucket. As soon as a bucket has `size` records, they are the next batch, in the order in which they
/// came, and the bucket is empty again. At the end, the rest of each bucket is a batch as well, beginning with the
/// bucket of the shortest records. No batch is empty. `bounds` are strictly ascending and may be empty; `size` is from
/// 1 to some thousand.
pub fn length_buckets(lengths: &[usize], order: &[usize], bounds: &[usize], size: usize) -> Vec<Vec<usize>> {
    let mut batches = Vec::new();
    let mut filling = vec![Vec::new(); bounds.len() + 1];
    for &r in order {
        let b = bounds.iter().filter(|&&bound| bound < lengths[r]).count();
        filling[b].push(r);
        if filling[b].len() == size {
            batches.push(std::mem::take(&mut filling[b]));
        }
    }
    for bucket in filling {
        if !bucket.is_empty() {
            batches.push(bucket);
        }
    }
    batches
}

/// Calls `make(0)`, `make(1)`, … `make(count − 1)` on `workers` new threads in parallel, and passes each result
/// to `take` in this order, on the calling thread, until there are no more or `take` returns false.
///
/// Call `make` once for each number. `count` may be 0. At most `ahead` results may be started and not yet passed to
/// `take`: `make(i)` does not start before the call of `take` for i − ahead has begun. Workers go on while `take` runs:
/// during the call for result i they make all results up to i + ahead − 1. An `Err` of `make` is passed to `take` in
/// its place, with its message (`context` may add to it), and the later results follow. A panic of `make` becomes an
/// `Err` in its place, and the later results follow. When `take` has returned false for result i, it is not called
/// again, and no number above i + ahead is made; those up to it may be. When `prefetched` returns, all its threads have
/// ended. `workers` and `ahead` are from 1 to some thousand, and `ahead` is at least `workers`. `take` does not panic.
pub fn prefetched(
    count: usize,
    workers: usize,
    ahead: usize,
    make: &(dyn Fn(usize) -> Result<Batch> + Sync),
    take: &mut dyn FnMut(Result<Batch>) -> bool,
) {
    let (jobs, todo) = mpsc::channel();
    let todo = Mutex::new(todo);
    let (done, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..workers {
            let done = done.clone();
            let todo = &todo;
            scope.spawn(move || {
                loop {
                    let job = todo.lock().unwrap().recv();
                    let Ok(i) = job else { return };
                    let made = panic::catch_unwind(panic::AssertUnwindSafe(|| make(i)));
                    let made = made.unwrap_or_else(|_| Err(anyhow!("{i} panicked")));
                    if done.send((i, made)).is_err() {
                        return;
                    }
                }
            });
        }
        let mut sent = 0;
        let mut early = HashMap::new();
        for i in 0..count {
            while sent < count.min(i + ahead) {
                let _ = jobs.send(sent);
                sent += 1;
            }
            while !early.contains_key(&i) {
                let (k, made) = results.recv().unwrap();
                early.insert(k, made);
            }
            if !take(early.remove(&i).unwrap()) {
                break;
            }
        }
        drop(jobs);
    });
}

/// The group of each record, for a split without leaks: a whole group is either in the training set or in the test
/// set.
///
/// Record i is a scan of the tree `trees[i]`, never "", on the plot `plots[i]`; "" is an unknown plot. Both lists are
/// equally long. Records of the same tree are in the same group, and so are records of the same plot. This also holds
/// over several steps: groups are connected components. If one tree was scanned from plot p and from plot q, all
/// records of p and q are one group. Groups are numbered from 0, in the order of their first records. A tree and a plot
/// may have the same name. There may be no record, and at most a few thousand: quadratic time and recursion are fine.
pub fn together(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    let n = trees.len();
    let mut group: Vec<usize> = (0..n).collect();
    for i in 0..n {
        for j in 0..i {
            let plot = !plots[i].is_empty() && plots[i] == plots[j];
            if trees[i] == trees[j] || plot {
                let (a, b) = (group[i], group[j]);
                for g in &mut group {
                    if *g == a {
                        *g = b;
                    }
                }
            }
        }
    }
    let mut numbers = HashMap::new();
    let mut numbered = Vec::new();
    for g in group {
        let next = numbers.len();
        numbered.push(*numbers.entry(g).or_insert(next));
    }
    numbered
}
