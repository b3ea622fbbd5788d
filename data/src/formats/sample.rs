//! A few points of a file that may be larger than memory.

use std::path::Path;

use anyhow::{Result, ensure};

use super::open;
use crate::{Cloud, Philox};

/// Draws `n` points of the file at `path` with equal probability, in the file's order; all if it has at most `n`. The
/// same `seed` draws the same points.
///
/// Reservoir sampling (Vitter 1985, "Random sampling with a reservoir", algorithm R): memory for `n` points.
///
/// # Errors
/// Names the file and the place that could not be read.
pub fn sample(path: &Path, n: usize, seed: u64) -> Result<Cloud> {
    ensure!(n > 0, "a sample of 0 points: expected at least 1");
    let mut random = Philox::new(seed, 0);
    let mut kept = Cloud::default();
    // The index of each kept point in the file.
    let mut places: Vec<usize> = Vec::new();
    let mut seen = 0usize;
    for chunk in open(path)? {
        let chunk = chunk?;
        let fills = chunk.len().min(n - kept.len());
        kept.append(chunk.select(&(0..fills).collect::<Vec<_>>()));
        places.extend(seen..seen + fills);
        for i in fills..chunk.len() {
            let slot = random.below(seen + i + 1);
            if slot < n {
                replace(&mut kept, slot, &chunk, i);
                places[slot] = seen + i;
            }
        }
        seen += chunk.len();
    }
    let mut order: Vec<usize> = (0..kept.len()).collect();
    order.sort_unstable_by_key(|&i| places[i]);
    Ok(kept.select(&order))
}

/// Replaces point `slot` of `to` by point `i` of `from`.
fn replace(to: &mut Cloud, slot: usize, from: &Cloud, i: usize) {
    to.xyz[slot] = from.xyz[i];
    if let Some(v) = to.intensity.get_mut(slot) {
        *v = from.intensity[i];
    }
    if let Some(v) = to.class.get_mut(slot) {
        *v = from.class[i];
    }
    if let Some(v) = to.returns.get_mut(slot) {
        *v = from.returns[i];
    }
}
