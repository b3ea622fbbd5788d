//! What is measured of an engine, and the measurement of ranks that are threads.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{
    Args,
    steps::{Row, Work},
};
use crate::{
    parallel::{
        Algorithm, Cost,
        measure::{all_reduce_seconds, messages},
        strong_efficiency, weak_efficiency,
    },
    train::ranks::measure::Start,
};

/// Measurements of one engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Engine {
    pub name: String,
    /// The step of one rank, with the batch of one rank and with that of all: the baselines.
    pub one_ms: f64,
    pub one_strong_ms: f64,
    /// The batch grows with the ranks.
    pub weak: Vec<Row>,
    /// All ranks share one batch.
    pub strong: Vec<Row>,
    pub all_reduces: Vec<AllReduced>,
    /// Bytes and seconds of single messages.
    pub messages: Vec<(f64, f64)>,
    /// The line through them.
    pub cost: Cost,
}

/// Times of an all-reduce, in µs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AllReduced {
    pub ranks: usize,
    pub bytes: usize,
    /// As training calls it.
    pub engine_us: f64,
    /// By MPI or NCCL called directly.
    pub direct_us: Option<f64>,
    pub ring_us: f64,
    pub tree_us: f64,
}

/// Lengths of the timed messages, in f32 numbers.
pub const MESSAGES: [usize; 6] = [1, 256, 1 << 12, 1 << 15, 1 << 18, 1 << 20];

/// Sizes of the timed all-reduces, in bytes: 4 B to 16 MiB.
pub fn sizes() -> impl Iterator<Item = usize> {
    (2..=24).step_by(2).map(|power| 1 << power)
}

/// Steps of one rank, in seconds: with the batch of one rank, and with that of all.
pub fn baselines(args: &Args, work: &Work) -> Result<[f64; 2]> {
    let one = |batch| -> Result<f64> { Ok(work.run(1, batch, true, Start::Threads)?.step) };
    Ok([one(args.batch)?, one(args.batch * args.most())?])
}

/// Measures weak and strong scaling to `ranks` ranks.
pub fn scaled(
    args: &Args,
    work: &Work,
    ranks: usize,
    [weak, strong]: [f64; 2],
    start: Start,
) -> Result<[Row; 2]> {
    let of_weak = |seconds| weak_efficiency(weak, seconds);
    let of_strong = |seconds| strong_efficiency(strong, seconds, ranks);
    Ok([
        work.row(ranks, args.batch * ranks, of_weak, start)?,
        work.row(ranks, args.batch * args.most(), of_strong, start)?,
    ])
}

/// Measures ranks that are threads.
pub fn threads(args: &Args, work: &Work) -> Result<Engine> {
    let one = baselines(args, work)?;
    let (mut weak, mut strong, mut all_reduces) = (Vec::new(), Vec::new(), Vec::new());
    for &ranks in args.ranks.iter().filter(|&&ranks| ranks > 1) {
        let [first, second] = scaled(args, work, ranks, one, Start::Threads)?;
        weak.push(first);
        strong.push(second);
        for bytes in sizes() {
            let seconds = |algorithm: Algorithm| {
                let numbers = bytes / size_of::<f32>();
                all_reduce_seconds(ranks, numbers, &algorithm.function(), args.repeats)
            };
            let (ring, tree) = (1e6 * seconds(Algorithm::Ring)?, 1e6 * seconds(Algorithm::Tree)?);
            all_reduces.push(AllReduced {
                ranks,
                bytes,
                engine_us: ring,
                direct_us: None,
                ring_us: ring,
                tree_us: tree,
            });
        }
    }
    let messages = messages(&MESSAGES, args.repeats)?;
    Ok(Engine {
        name: args.link.map_or("threads".into(), |link| {
            format!("threads, whose gradients cross an emulated link of {link} GB/s")
        }),
        one_ms: 1e3 * one[0],
        one_strong_ms: 1e3 * one[1],
        weak,
        strong,
        all_reduces,
        cost: Cost::fit(&messages)?,
        messages,
    })
}
