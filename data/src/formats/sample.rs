//! A few points of a file that may be larger than memory.

use std::path::Path;

use anyhow::{Result, ensure};

use super::reader::open;
use crate::{Cloud, Philox};

/// Draws `n` points of the file at `path` with equal probability, in the file's order; all if it has at most `n`. The
/// same `seed` draws the same points.
///
/// Reservoir sampling (Vitter 1985, "Random sampling with a reservoir", algorithm R): memory for some times `n` points.
///
/// # Errors
/// Names the file and the place that could not be read.
pub fn sample(path: &Path, n: usize, seed: u64) -> Result<Cloud> {
    ensure!(n > 0, "a sample of 0 points: expected at least 1");
    let mut random = Philox::new(seed, 0);
    // The points that were drawn so far, in the file's order, and the index there of each that is kept.
    let (mut drawn, mut kept, mut seen) = (Cloud::default(), Vec::new(), 0);
    for chunk in open(path)? {
        let chunk = chunk?;
        let mut taken = Vec::new();
        for i in 0..chunk.len() {
            let new = drawn.len() + taken.len();
            if kept.len() < n {
                kept.push(new);
                taken.push(i);
                continue;
            }
            if let Some(slot) = kept.get_mut(random.below(seen + i + 1)) {
                *slot = new;
                taken.push(i);
            }
        }
        seen += chunk.len();
        drawn.append(chunk.select(&taken));
    }
    kept.sort_unstable();
    Ok(drawn.select(&kept))
}
