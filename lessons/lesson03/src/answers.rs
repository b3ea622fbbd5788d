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
        2 => (0, epoch),
        3 => (seed + epoch, 0),
        _ => (seed, epoch),
    };
    let mut order: Vec<usize> = (0..n).collect();
    let mut random = Philox::new(seed, epoch);
    match M {
        4 => return order,
        5 => return (0..n).map(|_| random.below(n)).collect(),
        6 => (0..n).for_each(|i| order.swap(i, random.below(n))),
        7 => (1..n).for_each(|i| order.swap(i, random.below(i))),
        _ => {}
    }
    for i in (1..n).rev() {
        match M {
            6 | 7 => break,
            8 if i == 1 => break,
            9 => random = Philox::new(seed, epoch),
            _ => {}
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
            match M {
                1 => return (0..n).map(|_| random.below(points.len())).collect(),
                2 => return all[..n].to_vec(),
                _ => {}
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
            let low = |k| points.iter().map(|p| p[k]).fold(f32::INFINITY, f32::min);
            for (i, point) in points.iter().enumerate() {
                let cube = point.map(|c| (c / edge).floor() as i64);
                let cube = match M {
                    3 => [cube[0], cube[1], 0],
                    4 => point.map(|c| (c / edge) as i64),
                    5 => point.map(|c| (c / edge).round() as i64),
                    6 => [0, 1, 2].map(|k| ((point[k] - low(k)) / edge).floor() as i64),
                    _ => cube,
                };
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
            let first = Philox::new(seed, 0).below(points.len());
            let mut next = if M == 7 { 0 } else { first };
            let mut distance = vec![f32::INFINITY; points.len()];
            for _ in 0..n {
                chosen.push(next);
                distance[next] = if M == 8 { 0.0 } else { -1.0 };
                let p = points[next];
                let mut best = next;
                for (i, q) in points.iter().enumerate() {
                    if distance[i] >= 0.0 {
                        let d = (0..3).map(|k| (p[k] - q[k]) * (p[k] - q[k])).sum();
                        distance[i] = if M == 9 { d } else { distance[i].min(d) };
                    }
                    if M == 10 && distance[i] >= distance[best] {
                        best = i;
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
    clouds.retain(|cloud| M != 2 || !cloud.is_empty());
    clouds.sort_by_key(|cloud| usize::from(M == 1) * cloud.len());
    if clouds.is_empty() {
        bail!("the batch has no clouds");
    }
    if let Some(i) = clouds.iter().position(Vec::is_empty) {
        bail!("cloud {i} has no points");
    }
    let longest = clouds.iter().map(Vec::len).max().unwrap_or(0);
    let longest = if M == 3 { clouds[0].len() } else { longest };
    let mut points = vec![0f32; clouds.len() * longest * 3];
    let mut mask = vec![0f32; clouds.len() * longest];
    for (i, cloud) in clouds.iter().enumerate() {
        let cloud = &cloud[..cloud.len().min(longest)];
        let from = i * longest;
        let from = from + usize::from(M == 4) * (longest - cloud.len());
        let to = from + cloud.len();
        points[3 * from..3 * to].copy_from_slice(cloud.as_flattened());
        mask[from..to].fill(1.0);
    }
    let points = Tensor::from_vec(points, (clouds.len(), longest, 3), device)?;
    let mask = Tensor::from_vec(mask, (clouds.len(), longest), device)?;
    Ok(match M {
        5 => (points, mask.ones_like()?),
        6 => (points.clone(), points.abs()?.sum(2)?.sign()?),
        7 => (points, mask.unsqueeze(2)?),
        8 if clouds.len() == 1 => (points.squeeze(0)?, mask.squeeze(0)?),
        9 => (points.transpose(1, 2)?.reshape(points.shape())?, mask),
        _ => (points, mask),
    })
}

type List<'a> = &'a [usize];

pub fn length_buckets<const M: u8>(lengths: List, order: List, bounds: List, size: usize) -> Vec<Vec<usize>> {
    let mut sorted = order.to_vec();
    sorted.sort_by_key(|&r| if M == 1 { r } else { lengths[r] });
    let order = if let 1 | 2 = M { &sorted } else { order };
    let mut batches = Vec::new();
    let mut filling = vec![Vec::new(); bounds.len() + 1];
    for &r in order {
        let b = bounds.iter().filter(|&&bound| bound < lengths[r]).count();
        let b = match M {
            3 => bounds.iter().filter(|&&bound| bound <= lengths[r]).count(),
            4 if b == bounds.len() => continue,
            5 => b.min(bounds.len().saturating_sub(1)),
            6 => 0,
            _ => b,
        };
        filling[b].push(r);
        if filling[b].len() == size {
            batches.push(std::mem::take(&mut filling[b]));
        }
    }
    if M == 7 {
        let map: HashMap<usize, Vec<usize>> = filling.into_iter().enumerate().collect();
        filling = map.into_values().collect();
    }
    for bucket in filling {
        if !bucket.is_empty() || M == 8 {
            batches.push(bucket);
        }
    }
    batches
}

pub fn prefetched<const M: u8>(count: usize, workers: usize, ahead: usize, make: Make, take: Take) {
    let (jobs, todo) = mpsc::channel();
    let todo = Mutex::new(todo);
    let (done, results) = mpsc::channel::<(usize, Result<Batch>)>();
    let alone = Mutex::new(());
    thread::scope(|scope| {
        for _ in 0..workers {
            let done = done.clone();
            let (todo, alone) = (&todo, &alone);
            scope.spawn(move || {
                loop {
                    let job = todo.lock().unwrap().recv();
                    let Ok(i) = job else { return };
                    let locked = (M == 1).then(|| alone.lock().unwrap());
                    let made = panic::catch_unwind(panic::AssertUnwindSafe(|| make(i)));
                    drop(locked);
                    let panicked = made.is_err();
                    let made = made.unwrap_or_else(|_| Err(anyhow!("{i} panicked")));
                    if done.send((i, made)).is_err() {
                        return;
                    }
                    if M == 2 && panicked {
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
            if M == 3 {
                early.insert(i, results.recv().unwrap().1);
            }
            while !early.contains_key(&i) {
                let (k, made) = results.recv().unwrap();
                early.insert(k, made);
            }
            let made: Result<Batch> = early.remove(&i).unwrap();
            if M == 4 && made.is_err() {
                continue;
            }
            if !take(made) && M != 5 {
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
            let skipped = match M {
                1 => !plot,
                2 => trees[i] != trees[j],
                3 => trees[i] != trees[j] || plots[i] != plots[j],
                4 => i != j + 1,
                5 => plots[i].is_empty() || plots[j].is_empty(),
                6 => group[i] != i,
                _ => false,
            };
            if skipped {
                continue;
            }
            let plot = match M {
                7 => plots[i] == plots[j],
                8 => plot || trees[i] == plots[j] || plots[i] == trees[j],
                _ => plot,
            };
            if trees[i] == trees[j] || plot {
                let (a, b) = (group[i], group[j]);
                if M == 9 {
                    group[i] = b;
                    continue;
                }
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
