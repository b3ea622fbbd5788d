//! Connects the processes of a job by NCCL, over the links that MPI gives them.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use candle_core::{DType, Device, Tensor};

use super::{
    cards,
    communicator::{Communicator, card, create_id},
    library::{Id, Library},
    watch::{Sums, Watch},
};
use crate::parallel::{
    AllReduce, Collective, OnTensors, gather_json,
    measure::{Seconds, over_processes},
    mpi::Shared,
};

/// Connects this process to the others with two communicators, if each has a GPU; None if none has. The second one is for
/// gradients, so that nothing waits for a bucket of them. Every rank calls it.
///
/// # Errors
/// Returns an error if two ranks share a GPU or only some have one, or if NCCL does not load or fails.
pub fn connect(links: &dyn Collective, device: &Device, shared: &Arc<Shared>) -> Result<Option<[Sums; 2]>> {
    let (rank, world_size) = (links.rank(), links.world_size());
    let card = card(device)?;
    let open = || Library::open().map_err(|why| anyhow!("rank {rank}: {why}"));
    let library = card.as_ref().map(|_| open()).transpose()?.map(Arc::new);
    links.doing("starting, at the creation of NCCL's communicators");
    // Rank 0 creates the ids of both communicators.
    let ids: Vec<Vec<u8>> = match &library {
        Some(library) if rank == 0 => vec![create_id(library)?.0.into(), create_id(library)?.0.into()],
        _ => Vec::new(),
    };
    let (cards, ids): (Vec<_>, Vec<_>) = gather_json(links, &(card, ids))?.into_iter().unzip();
    if !cards::agree(&cards)? {
        return Ok(None);
    }
    let library = library.context("a rank without a GPU takes part in NCCL")?;
    let watch = Watch::start(rank, shared.clone())?;
    let sums = |which: usize| -> Result<Sums> {
        let id = ids[0].get(which).and_then(|id| id[..].try_into().ok());
        let id = Id(id.context("NCCL's ids of rank 0 are not 128 bytes each")?);
        let connect = || Communicator::connect(library.clone(), device, id, (rank, world_size));
        Ok(Sums {
            communicator: Arc::new(watch.during("the connection of NCCL", connect)?),
            watch: watch.clone(),
        })
    };
    Ok(Some([sums(0)?, sums(1)?]))
}

/// As [`crate::parallel::Processes::all_reduce_seconds`]: NCCL sums a tensor on the device; the messages of ring and tree are
/// those of `links`.
///
/// # Errors
/// Returns an error if an all-reduce fails.
pub fn all_reduce_seconds(
    sums: &Sums,
    links: &dyn Collective,
    ring: &AllReduce,
    (numbers, repeats): (usize, usize),
) -> Result<Seconds> {
    let tensor = Tensor::ones(numbers, DType::F32, sums.device())?;
    let engine = |_: &mut Vec<f32>| sums.start_sum(&tensor)?.finish().map(drop);
    let directly = |_: &mut Vec<f32>| Ok(sums.communicator.sum(&tensor)?.end.synchronize()?);
    over_processes(links, ring, (numbers, repeats), [&engine, &directly])
}
