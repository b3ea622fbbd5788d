//! What messages between ranks take, measured.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};

use super::{
    Algorithm, AllReduce, Collective, Link, Rank,
    threads::{group, group_with},
};

/// Ranks that do nothing else answer well before this.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Seconds of one message of each of `sizes` numbers from one thread to another: half of there and back, the median of
/// `repeats`. Gives `(bytes, seconds)`, as [`super::Cost::fit`] takes them.
///
/// # Errors
/// The link's.
pub fn messages(sizes: &[usize], repeats: usize) -> Result<Vec<(f64, f64)>> {
    let group = group(2, Algorithm::Ring, DEADLINE);
    let times = on_ranks(group, |rank| messages_between(&rank, sizes, repeats))?;
    Ok(times.into_iter().next().unwrap_or_default())
}

/// As [`messages`], between ranks 0 and 1 of any group; both call it.
///
/// # Errors
/// The link's.
pub fn messages_between(rank: &Rank, sizes: &[usize], repeats: usize) -> Result<Vec<(f64, f64)>> {
    let mut times = Vec::new();
    for &size in sizes {
        let mut data = vec![1.0; size];
        let mut of_size = Vec::new();
        // One more, which is not counted: the first finds nothing in the caches.
        for _ in 0..=repeats {
            let began = Instant::now();
            if Link::rank(rank) == 0 {
                Link::send(rank, 1, &data)?;
                Link::receive(rank, 1, &mut data)?;
            } else {
                Link::receive(rank, 0, &mut data)?;
                Link::send(rank, 0, &data)?;
            }
            of_size.push(began.elapsed().as_secs_f64() / 2.0);
        }
        times.push(((size * size_of::<f32>()) as f64, median(&mut of_size[1..])));
    }
    Ok(times)
}

/// Seconds of an all-reduce of `numbers` over `world` threads, the median of `repeats`: from a moment at which all are
/// there, until the last has its sum.
///
/// # Errors
/// The all-reduce's.
pub fn all_reduce_seconds(
    world: usize,
    numbers: usize,
    all_reduce: &AllReduce,
    repeats: usize,
) -> Result<f64> {
    let group = group_with(world, all_reduce, DEADLINE);
    let times = on_ranks(group, |rank| all_reduce_among(&rank, numbers, repeats))?;
    Ok(times.into_iter().fold(0.0, f64::max))
}

/// As [`all_reduce_seconds`], as this rank of any group sees it; all call it.
///
/// # Errors
/// The all-reduce's.
pub fn all_reduce_among(rank: &Rank, numbers: usize, repeats: usize) -> Result<f64> {
    let mut data = vec![1.0; numbers];
    let mut times = Vec::new();
    for _ in 0..=repeats {
        rank.barrier()?;
        let began = Instant::now();
        rank.all_reduce(&mut data)?;
        rank.barrier()?;
        times.push(began.elapsed().as_secs_f64());
    }
    Ok(median(&mut times[1..]))
}

/// What `work` gives on each rank.
fn on_ranks<T: Send>(ranks: Vec<Rank>, work: impl Fn(Rank) -> Result<T> + Sync) -> Result<Vec<T>> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = ranks.into_iter().map(|r| scope.spawn(move || work(r))).collect();
        let end =
            |t: thread::ScopedJoinHandle<'_, Result<T>>| t.join().map_err(|_| anyhow!("a rank panicked"))?;
        threads.into_iter().map(end).collect()
    })
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
