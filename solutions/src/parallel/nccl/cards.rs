//! Whether the ranks of a job can use NCCL: each must have a GPU of its own.

use anyhow::{Result, bail};

/// Returns whether the ranks, whose GPUs are `cards`, have one each; false if no rank has one.
///
/// # Errors
/// Returns an error if some ranks have a GPU and others have none, or if two ranks have the same one.
pub fn agree(cards: &[Option<String>]) -> Result<bool> {
    if cards.iter().all(Option::is_none) {
        return Ok(false);
    }
    for (rank, card) in cards.iter().enumerate() {
        let Some(card) = card else {
            let with = cards.iter().position(Option::is_some).unwrap_or_default();
            bail!(
                "rank {rank} has no GPU, but rank {with} has one: NCCL needs a GPU for each rank. Start as many ranks on each node \
                 as it has GPUs, or train with --device cpu"
            );
        };
        if let Some(first) = cards[..rank]
            .iter()
            .position(|other| other.as_ref() == Some(card))
        {
            bail!(
                "ranks {first} and {rank} use the same GPU ({card}): NCCL needs a GPU for each rank. Start as many ranks on each \
                 node as it has GPUs, with --gpus-per-task=1 or without a CUDA_VISIBLE_DEVICES that hides the others"
            );
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_needs_a_gpu_of_its_own() {
        let agree = |cards: [Option<&str>; 3]| {
            let agreed = agree(&cards.map(|card| card.map(str::to_owned)));
            agreed.map_err(|error| error.to_string())
        };
        let (a, b, c) = (Some("GPU-a"), Some("GPU-b"), Some("GPU-c"));
        assert_eq!(agree([a, b, c]), Ok(true));
        assert_eq!(agree([None; 3]), Ok(false));
        for (cards, why) in [
            ([a, b, a], "ranks 0 and 2 use the same GPU (GPU-a)"),
            ([None, b, c], "rank 0 has no GPU, but rank 1 has one"),
        ] {
            let text = agree(cards).unwrap_err();
            assert!(text.contains(why), "{text}");
        }
    }
}
