//! Parts of the experiment.

pub mod interleaved;
pub mod layers;
pub mod network;
pub mod pipeline;
pub mod timeline;
pub mod trillion;

use std::{sync::Mutex, thread, time::Duration};

use anyhow::{Context, Result, anyhow};
use canopy::parallel::{Rank, ring_all_reduce, threads::group};

/// Far longer than any rank waits.
const DEADLINE: Duration = Duration::from_secs(30);

/// Runs `work` on `world` threads, a rank each, and returns the results in the order of the ranks.
pub fn on_ranks<T: Send>(world: usize, work: impl Fn(&Rank) -> Result<T> + Sync) -> Result<Vec<T>> {
    let results: Mutex<Vec<Option<Result<T>>>> = Mutex::new((0..world).map(|_| None).collect());
    thread::scope(|scope| {
        for (at, rank) in group(world, ring_all_reduce, DEADLINE).into_iter().enumerate() {
            let (work, results) = (&work, &results);
            scope.spawn(move || {
                let result = work(&rank);
                if let Ok(mut all) = results.lock() {
                    all[at] = Some(result);
                }
            });
        }
    });
    let results = results.into_inner().map_err(|_| anyhow!("a rank panicked"))?;
    results
        .into_iter()
        .map(|result| result.context("a rank panicked")?)
        .collect()
}
