//! Lesson 03: the third hint of each exercise, completed as a student does who has no other idea. `M` is 0 here; each other
//! number is one known mistake, whose cause is in the exercise's file.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, mpsc};
use std::{panic, thread};

use anyhow::{Result, anyhow};
use candle_core::{Device, Tensor, bail};
use canopy::loader::Batch;
use canopy_data::{Philox, sample::Subsample};

use crate::{Batched, Make, Take};

pub fn epoch_order<const M: u8>(n: usize, seed: u64, epoch: u64) -> Vec<usize> {
    let (seed, epoch) = match M {
        1 => (seed, 0),
        2 => (seed + epoch, 0),
        _ => (seed, epoch),
    };
    let mut order: Vec<usize> = (0..n).collect();
    let mut random = Philox::new(seed, epoch);
    for i in (1..n).rev() {
        if M == 3 {
            order.swap(i, random.below(n));
            continue;
        }
        order.swap(i, random.below(i + 1));
    }
    order
}

pub fn subsample<const M: u8>(points: &[[f32; 3]], what: Subsample, seed: u64) -> Vec<usize> {
    match what {
        Subsample::Random(n) => {
            let n = n.min(points.len());
            let mut random = Philox::new(seed, 0);
            let mut all: Vec<usize> = (0..points.len()).collect();
            if M == 1 {
                return (0..n).map(|_| random.below(points.len())).collect();
            }
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
                let cube = point.map(|c| if M == 2 { c / edge } else { (c / edge).floor() } as i64);
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
                        distance[i] = if M == 3 { d } else { distance[i].min(d) };
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

pub fn collate_ragged<const M: u8>(clouds: &[Vec<[f32; 3]>], device: &Device) -> Batched {
    let mut clouds = clouds.to_vec();
    clouds.retain(|cloud| M != 1 || !cloud.is_empty());
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
    let points = Tensor::from_vec(points, (clouds.len(), longest, 3), device)?;
    let mask = Tensor::from_vec(mask, (clouds.len(), longest), device)?;
    Ok(match M {
        2 => (points, mask.ones_like()?),
        3 => (points.clone(), points.abs()?.sum(2)?.sign()?),
        _ => (points, mask),
    })
}

type List<'a> = &'a [usize];

pub fn length_buckets<const M: u8>(lengths: List, order: List, bounds: List, size: usize) -> Vec<Vec<usize>> {
    let mut sorted = order.to_vec();
    sorted.sort_by_key(|&r| usize::from(M == 1) * lengths[r]);
    let order = &sorted;
    let mut batches = Vec::new();
    let mut filling = vec![Vec::new(); bounds.len() + 1];
    for &r in order {
        let b = bounds.iter().filter(|&&bound| bound < lengths[r]).count();
        let b = match M {
            2 if b == bounds.len() => continue,
            3 => b.min(bounds.len().saturating_sub(1)),
            _ => b,
        };
        filling[b].push(r);
        if filling[b].len() == size {
            batches.push(std::mem::take(&mut filling[b]));
        }
    }
    batches.extend(filling.into_iter().filter(|bucket| M == 4 || !bucket.is_empty()));
    batches
}

pub fn prefetched<const M: u8>(count: usize, workers: usize, ahead: usize, make: Make, take: Take) {
    let (jobs, todo) = mpsc::channel();
    let todo = Mutex::new(todo);
    let (done, results) = mpsc::channel::<(usize, Result<Batch>)>();
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
        drop(done);
        let mut sent = 0;
        let mut early = HashMap::new();
        for i in 0..count {
            while sent < count.min(i + ahead) {
                let _ = jobs.send(sent);
                sent += 1;
            }
            if M == 1 {
                early.insert(i, results.recv().unwrap().1);
            }
            while !early.contains_key(&i) {
                let (k, made) = results.recv().unwrap();
                early.insert(k, made);
            }
            let made: Result<Batch> = early.remove(&i).unwrap();
            if M == 2 && made.is_err() {
                continue;
            }
            if !take(made) && M != 3 {
                break;
            }
        }
        drop(jobs);
    });
}

pub fn together<const M: u8>(trees: &[&str], plots: &[&str]) -> Vec<usize> {
    let n = trees.len();
    let mut group: Vec<usize> = (0..n).collect();
    for i in 0..n {
        for j in 0..i {
            let plot = !plots[i].is_empty() && plots[i] == plots[j];
            if M == 1 && !plot || M == 2 && trees[i] != trees[j] {
                continue;
            }
            let plot = plot || M == 3 && plots[i] == plots[j];
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
