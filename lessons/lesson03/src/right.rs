//! Right answers that are not written as canopy's.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{sync::mpsc, thread};

use anyhow::anyhow;
use candle_core::{Tensor, bail};
use canopy_data::{Philox, sample::Subsample};
use grader::{Right, known};

use crate::{Lesson03, REFERENCE};

pub const RIGHT: &[Right<Lesson03>] = &[
    known!("3.1", "sorted by a random key", epoch_order: |n, s, e| {
        let mut random = Philox::new(s, e);
        let keyed: BTreeSet<(u64, usize)> = (0..n).map(|i| (random.next_u64(), i)).collect();
        keyed.into_iter().map(|k| k.1).collect()
    }),
    known!("3.2", "the last point of each cube, distances to all chosen points", subsample: |p, what, seed| match what {
        Subsample::Voxel(e) => {
            let cube = |i: usize| (p[i].map(|x| (x / e).floor() as i64), i);
            let last: BTreeMap<[i64; 3], usize> = (0..p.len()).map(cube).collect();
            BTreeSet::from_iter(last.into_values()).into_iter().collect()
        }
        Subsample::Farthest(n) if n > 0 && !p.is_empty() => {
            let mut chosen = vec![seed as usize % p.len()];
            let to = |i: usize, j: usize| (0..3).map(|k| (p[i][k] - p[j][k]).powi(2)).sum::<f32>().sqrt();
            while chosen.len() < n.min(p.len()) {
                let near = |i: &usize| chosen.iter().map(|&j| to(*i, j)).fold(f32::INFINITY, f32::min);
                let free = (0..p.len()).rev().filter(|i| !chosen.contains(i));
                chosen.extend(free.max_by(|i, j| near(i).total_cmp(&near(j))));
            }
            chosen
        }
        other => (REFERENCE.subsample)(p, other, seed),
    }),
    known!("3.3", "point by point, then reshaped", collate_ragged: |clouds, device| {
        let longest = clouds.iter().map(Vec::len).max().unwrap_or(0);
        if clouds.iter().map(Vec::len).min().unwrap_or(0) == 0 { bail!("no points") }
        let places = || clouds.iter().flat_map(|cloud| (0..longest).map(|k| cloud.get(k)));
        let points: Vec<f32> = places().flat_map(|p| p.copied().unwrap_or_default()).collect();
        let mask: Vec<f32> = places().map(|p| if p.is_some() { 1.0 } else { 0.0 }).collect();
        let mask = Tensor::new(mask, device)?.reshape((clouds.len(), longest))?;
        Ok((Tensor::new(points, device)?.reshape((clouds.len(), longest, 3))?, mask))
    }),
    known!("3.4", "a map of the buckets in use", length_buckets: |lengths, order, bounds, size| {
        let (mut batches, mut filling) = (Vec::new(), BTreeMap::new());
        for &r in order {
            let bound = bounds.iter().find(|&&bound| bound >= lengths[r]).unwrap_or(&usize::MAX);
            let bucket: &mut Vec<usize> = filling.entry(bound).or_default();
            bucket.push(r);
            if bucket.len() == size { batches.extend(filling.remove(bound)) }
        }
        batches.extend(filling.into_values());
        batches
    }),
    known!("3.5", "each worker has numbers and results of its own", prefetched: |count, workers, ahead, make, take| {
        thread::scope(|scope| {
            let start = |_| {
                let ((jobs, todo), (done, results)) = (mpsc::channel(), mpsc::channel());
                scope.spawn(move || for i in todo {
                    let made = catch_unwind(AssertUnwindSafe(|| make(i)));
                    let _ = done.send(made.unwrap_or_else(|_| Err(anyhow!("a panic"))));
                });
                (jobs, results)
            };
            let each: Vec<_> = (0..workers).map(start).collect();
            let send = |i: usize| if i < count { let _ = each[i % workers].0.send(i); };
            (0..ahead).for_each(send);
            for i in 0..count {
                let Ok(made) = each[i % workers].1.recv() else { return };
                if !take(made) { return }
                send(i + ahead);
            }
        });
    }),
    known!("3.6", "the least number passed on, as often as there are records", together: |trees, plots| {
        let same = |i: usize, j: usize| trees[i] == trees[j] || (!plots[i].is_empty() && plots[i] == plots[j]);
        let mut group: Vec<usize> = (0..trees.len()).collect();
        for _ in trees {
            let least = |i: usize| (0..trees.len()).filter(|&j| same(i, j)).map(|j| group[j]).min().unwrap_or(i);
            group = (0..trees.len()).map(least).collect();
        }
        let firsts: Vec<usize> = BTreeSet::from_iter(group.clone()).into_iter().collect();
        group.iter().filter_map(|g| firsts.binary_search(g).ok()).collect()
    }),
];
