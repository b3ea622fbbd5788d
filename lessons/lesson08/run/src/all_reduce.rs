//! The time of messages and of all-reduces between threads, and what follows for more ranks.

use std::time::{Duration, Instant};

use anyhow::Result;
use canopy::parallel::{
    AllReduce, Collective, Cost, Link, ring_all_reduce,
    threads::{group, on_each},
    tree_all_reduce,
};
use kit::table::{Table, fixed, json, left, percent};
use lesson08::Lesson08;

use crate::{scaling::RANKS, training::ring};

/// Much longer than any message that is measured here.
const DEADLINE: Duration = Duration::from_secs(30);
/// Lengths of the timed messages, in numbers.
const SIZES: [usize; 7] = [1, 64, 1 << 10, 1 << 13, 1 << 16, 1 << 18, 1 << 20];
/// Times of which the median counts, after one for warm-up.
const REPEATS: usize = 61;
/// Numbers of ranks that are predicted.
const PREDICTED: [usize; 6] = [2, 4, 16, 128, 1024, 4096];

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Measures the cost of messages between two threads.
pub fn cost() -> Result<Cost> {
    let ranks = group(2, ring_all_reduce, DEADLINE);
    let timed = on_each(ranks, |rank| SIZES.map(|size| half_round_trip(&rank, size)));
    let timed: Result<Vec<f64>> = timed.into_iter().flatten().take(SIZES.len()).collect();
    let bytes = SIZES.map(|size| (size * size_of::<f32>()) as f64);
    Cost::fit(&bytes.into_iter().zip(timed?).collect::<Vec<_>>())
}

fn half_round_trip(link: &dyn Link, size: usize) -> Result<f64> {
    let mut data = vec![1.0; size];
    let mut times = Vec::new();
    for _ in 0..=REPEATS {
        let began = Instant::now();
        if link.rank() == 0 {
            link.send(1, &data)?;
            link.receive(1, &mut data)?;
        } else {
            link.receive(0, &mut data)?;
            link.send(0, &data)?;
        }
        times.push(began.elapsed().as_secs_f64() / 2.0);
    }
    Ok(median(times.split_off(1)))
}

/// How an all-reduce is computed.
pub type Computed<'a> = &'a dyn Fn(&mut Vec<f32>) -> Result<()>;

/// Measures all-reduces of `numbers` numbers by each of `ways`, in seconds from a barrier. They take turns, so that
/// other work on the machine slows all of them.
pub fn timed<const N: usize>(
    links: &dyn Collective,
    numbers: usize,
    ways: [Computed; N],
) -> Result<[f64; N]> {
    let mut data = vec![1.0; numbers];
    let mut times = [const { Vec::new() }; N];
    for _ in 0..=REPEATS {
        for (way, times) in ways.iter().zip(&mut times) {
            data.fill(1.0);
            links.barrier()?;
            let began = Instant::now();
            way(&mut data)?;
            times.push(began.elapsed().as_secs_f64());
        }
    }
    Ok(times.map(|mut times| median(times.split_off(1))))
}

/// Measures all-reduces of `numbers` numbers over `world` threads by `ring` and by canopy's tree, in seconds, until the
/// last rank has the sum.
fn over_threads(world: usize, numbers: usize, ring: &AllReduce) -> Result<[f64; 2]> {
    let ranks = group(world, ring_all_reduce, DEADLINE);
    let times = on_each(ranks, |rank| {
        let by_ring = |data: &mut Vec<f32>| {
            ring(&rank, data)?;
            rank.barrier()
        };
        let by_tree = |data: &mut Vec<f32>| {
            tree_all_reduce(&rank, data)?;
            rank.barrier()
        };
        timed(&rank, numbers, [&by_ring, &by_tree])
    });
    let times = times.into_iter().collect::<Result<Vec<_>>>()?;
    Ok([0, 1].map(|way| times.iter().map(|t| t[way]).fold(0.0, f64::max)))
}

/// All-reduces of `numbers` gradients, measured, and predicted from `cost`, with the weak efficiency of a step that
/// takes one rank `one` seconds: with a ring after the backward pass, and with one that overlaps with it completely.
pub fn table(answer: &Lesson08, numbers: usize, cost: Cost, one: f64) -> Result<Table> {
    let mut table = Table::new([
        left(""),
        fixed("ring", 3).unit("ms"),
        fixed("tree", 3).unit("ms"),
        percent("efficiency", 0),
        percent("full overlap", 0),
    ]);
    for p in &RANKS[1..] {
        let [ring, tree] = over_threads(*p, numbers, &ring(answer))?;
        table.row(json!([format!("{p} ranks, measured"), 1e3 * ring, 1e3 * tree]));
    }
    let bytes = (numbers * size_of::<f32>()) as f64;
    for p in PREDICTED {
        let ring = (answer.ring_seconds)(p, bytes, cost);
        let tree = (answer.tree_seconds)(p, bytes, cost);
        table.row(json!([
            format!("{p} ranks, predicted"),
            1e3 * ring,
            1e3 * tree,
            (answer.weak_efficiency)(one, one + ring),
            (answer.weak_efficiency)(one, one.max(ring))
        ]));
    }
    Ok(table)
}
