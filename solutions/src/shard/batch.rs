//! The batch sizes of an engine: what is given, and what follows.

use anyhow::{Context, Result, bail, ensure};

// ANCHOR: BatchSizes
/// The batch sizes that a user wrote down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchWanted {
    /// Samples of a step, on all ranks together: `train_batch_size`.
    pub train: Option<usize>,
    /// Samples of a micro-batch on one rank: `train_micro_batch_size_per_gpu`.
    pub micro: Option<usize>,
    /// Micro-batches of a step on each rank: `gradient_accumulation_steps`.
    pub accumulation: Option<usize>,
}

/// Batch sizes that agree: train = micro × accumulation × ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSizes {
    /// Samples of a step, on all ranks together.
    pub train: usize,
    /// Samples of a micro-batch on one rank.
    pub micro: usize,
    /// Micro-batches of a step on each rank.
    pub accumulation: usize,
}
// ANCHOR_END: BatchSizes

/// Settles the batch sizes of `world_size` ranks so that train = micro × accumulation × `world_size`. Fills in what is missing
/// as DeepSpeed does: accumulation is 1 if only one of `train` and `micro` is given, and nothing else.
///
/// # Errors
/// Returns an error that names the numbers if neither `train` nor `micro` is given, a number is 0, they contradict each other, or
/// a division has a remainder.
pub fn settle_batch(wanted: BatchWanted, world_size: usize) -> Result<BatchSizes> {
    let BatchWanted {
        train,
        micro,
        accumulation,
    } = wanted;
    for (name, number) in [
        ("train", train),
        ("micro", micro),
        ("accumulation", accumulation),
        ("the number of ranks", Some(world_size)),
    ] {
        ensure!(
            number != Some(0),
            "batch sizes: {name} is 0; it must be at least 1"
        );
    }
    let given = accumulation.unwrap_or(1);
    let (train, micro, accumulation) = match (train, micro) {
        (None, None) => bail!("batch sizes: set train or micro; accumulation alone does not determine them"),
        (None, Some(micro)) => (product(micro, given, world_size)?, micro, given),
        (Some(train), None) => (train, divided(train, ("accumulation", given), world_size)?, given),
        (Some(train), Some(micro)) => {
            let rest = || divided(train, ("micro", micro), world_size);
            (train, micro, accumulation.map_or_else(rest, Ok)?)
        }
    };
    let product = product(micro, accumulation, world_size)?;
    ensure!(
        product == train,
        "batch sizes: train is {train}, but micro {micro} × accumulation {accumulation} × {world_size} ranks is {product}"
    );
    Ok(BatchSizes {
        train,
        micro,
        accumulation,
    })
}

/// Returns train ÷ (the other number × ranks).
fn divided(train: usize, (name, other): (&str, usize), world_size: usize) -> Result<usize> {
    let by = product(other, 1, world_size)?;
    ensure!(
        train.is_multiple_of(by),
        "batch sizes: train {train} is not a multiple of {name} {other} × {world_size} ranks; the remainder is {}",
        train % by
    );
    Ok(train / by)
}

fn product(micro: usize, accumulation: usize, world_size: usize) -> Result<usize> {
    micro
        .checked_mul(accumulation)
        .and_then(|n| n.checked_mul(world_size))
        .with_context(|| format!("batch sizes: {micro} × {accumulation} × {world_size} is too large"))
}
