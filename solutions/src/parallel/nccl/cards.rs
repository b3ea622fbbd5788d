//! Whether the ranks of a job can use NCCL: each must have a GPU of its own.

use anyhow::{Result, bail, ensure};

use super::library::Id;
use crate::parallel::Collective;

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

/// The longest name of a GPU, in bytes.
const NAME: usize = 120;

/// As [`super::rendezvous::Rendezvous::meet`], over links that the ranks have already. Every rank calls it.
///
/// # Errors
/// Returns the errors of [`agree`] on every rank, that of `create`, and those of the links.
pub fn meet_over(
    links: &dyn Collective,
    card: Option<&str>,
    create: impl FnOnce() -> Result<Id>,
) -> Result<Option<Id>> {
    links.doing("starting, at the creation of NCCL's communicator");
    let mut mine = [0.0; NAME];
    if let Some(card) = card {
        ensure!(
            !card.is_empty() && card.len() <= NAME,
            "the name of the GPU, {card:?}, has no length from 1 to {NAME} bytes"
        );
        mine.iter_mut().zip(card.bytes()).for_each(|(n, b)| *n = b.into());
    }
    let mut all = vec![0.0; NAME * links.world_size()];
    links.all_gather(&mine, &mut all)?;
    let name = |numbers: &[f32]| {
        let bytes: Vec<u8> = numbers.iter().map(|&n| n as u8).take_while(|&b| b > 0).collect();
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
    };
    let cards: Vec<Option<String>> = all.chunks_exact(NAME).map(name).collect();
    if !agree(&cards)? {
        return Ok(None);
    }
    share(links, create).map(Some)
}

/// Broadcasts an id that rank 0 creates, one byte in each number. Every rank calls it.
///
/// # Errors
/// Returns the error of `create`, on rank 0, and those of the links.
pub fn share(links: &dyn Collective, create: impl FnOnce() -> Result<Id>) -> Result<Id> {
    let id = if links.rank() == 0 {
        create()?
    } else {
        Id([0; 128])
    };
    let mut bytes = id.0.map(f32::from);
    links.broadcast(0, &mut bytes)?;
    Ok(Id(bytes.map(|byte| byte as u8)))
}
