//! Measures messages and all-reduces between ranks.

use std::time::{Duration, Instant};

use anyhow::Result;
use canopy::parallel::{
    AllReduce, Collective, Link, ring_all_reduce,
    threads::{group, on_each},
};

/// Much longer than any message that is measured here.
const DEADLINE: Duration = Duration::from_secs(30);

/// Measures messages of each of `sizes` f32 numbers between two threads: half a round trip, the median of `repeats`.
/// Returns `(bytes, seconds)` for each size, as [`canopy::parallel::Cost::fit`] expects them.
pub fn messages(sizes: &[usize], repeats: usize) -> Result<Vec<(f64, f64)>> {
    let group = group(2, ring_all_reduce, DEADLINE);
    let times = on_each(group, |rank| round_trips(&rank, sizes, repeats));
    times.into_iter().next().unwrap_or_else(|| Ok(Vec::new()))
}

/// One rank's side of [`messages`]; ranks other than 0 and 1 take no part.
fn round_trips(link: &dyn Link, sizes: &[usize], repeats: usize) -> Result<Vec<(f64, f64)>> {
    let mut times = Vec::new();
    if link.rank() > 1 {
        return Ok(times);
    }
    for &size in sizes {
        let mut data = vec![1.0; size];
        let mut of_size = Vec::new();
        // The first round trip warms up the caches and is not counted.
        for _ in 0..=repeats {
            let began = Instant::now();
            if link.rank() == 0 {
                link.send(1, &data)?;
                link.receive(1, &mut data)?;
            } else {
                link.receive(0, &mut data)?;
                link.send(0, &data)?;
            }
            of_size.push(began.elapsed().as_secs_f64() / 2.0);
        }
        times.push(((size * size_of::<f32>()) as f64, median(&of_size[1..])));
    }
    Ok(times)
}

/// Returns the time of an all-reduce of `numbers` f32 numbers over `world` threads, in seconds: from a barrier until the
/// last rank has the sum, the median of `repeats`.
pub fn all_reduce_seconds(
    world: usize,
    numbers: usize,
    all_reduce: &AllReduce,
    repeats: usize,
) -> Result<f64> {
    let all_reduce = all_reduce.clone();
    let group = group(world, move |link, data| all_reduce(link, data), DEADLINE);
    let times = on_each(group, |rank| {
        let until_all_have_it = |data: &mut Vec<f32>| {
            rank.all_reduce(data)?;
            rank.barrier()
        };
        timed(&rank, (numbers, repeats), [&until_all_have_it])
    });
    let times = times.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(times.as_flattened().iter().copied().fold(0.0, f64::max))
}

/// How an all-reduce is computed.
pub type Computed<'a> = &'a dyn Fn(&mut Vec<f32>) -> Result<()>;

/// Measures all-reduces of `numbers` numbers by each of `ways`, in seconds: from a barrier, the median of `repeats`. They take
/// turns, so that other work on the machine slows all of them.
pub fn timed<const N: usize>(
    links: &dyn Collective,
    (numbers, repeats): (usize, usize),
    ways: [Computed; N],
) -> Result<[f64; N]> {
    let mut data = vec![1.0; numbers];
    let mut times = [const { Vec::new() }; N];
    // The first turn warms up and is not counted.
    for turn in 0..=repeats {
        for (way, times) in ways.iter().zip(&mut times) {
            data.fill(1.0);
            links.barrier()?;
            let began = Instant::now();
            way(&mut data)?;
            if turn > 0 {
                times.push(began.elapsed().as_secs_f64());
            }
        }
    }
    Ok(times.map(|times| median(&times)))
}

/// The median; 0 without values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n => (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
    }
}
