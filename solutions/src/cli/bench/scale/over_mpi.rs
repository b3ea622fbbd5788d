//! Ranks that are processes.

use std::sync::Arc;

use anyhow::Result;
use serde::Deserialize;

use super::{
    Args,
    engine::{AllReduced, Engine, MESSAGES, baselines, scaled, sizes},
    steps::Work,
};
#[cfg(feature = "nccl")]
use crate::cli::collective;
use crate::{
    cli::{bench::by_mpirun, collective::Collective},
    parallel::{self, AllReduce, Cost, Place, Processes, ring_all_reduce},
    train::ranks::measure::Start,
};

/// Uses NCCL between `processes`, if the user asks for it.
///
/// # Errors
/// Returns the errors of [`collective::connect`].
#[cfg(feature = "nccl")]
pub fn with_nccl(args: &Args, work: &Work, mut processes: Box<dyn Processes>) -> Result<Box<dyn Processes>> {
    if args.collective == Some(Collective::Nccl) {
        collective::connect(&mut *processes, args.collective, &work.chosen.device)?;
    }
    Ok(processes)
}

/// Measures the processes of a job, of which this one is at `place`. Returns the results on rank 0.
///
/// # Errors
/// Returns an error if training or MPI fails.
pub fn measure(
    args: &Args,
    work: &Work,
    place: &Place,
    processes: Box<dyn Processes>,
) -> Result<Option<Engine>> {
    let (leads, ranks) = (place.rank == 0, place.world_size);
    let links = processes.links()?;
    // The other ranks wait at the barrier, so that the baseline has the machine to itself.
    let one = if leads { baselines(args, work)? } else { [1.0; 2] };
    links.barrier()?;
    let [weak, strong] = scaled(args, work, ranks, one, Start::Processes(&*processes))?;
    let all_reduces = sizes().map(|bytes| all_reduced(args, &*processes, &*links, bytes));
    let all_reduces = all_reduces.collect::<Result<Vec<_>>>()?;
    let messages = processes.message_seconds(&*links, &MESSAGES, args.repeats)?;
    drop(links);
    processes.finish(None);
    let engine = || -> Result<Engine> {
        Ok(Engine {
            name: match args.collective {
                Some(Collective::Nccl) => format!("NCCL, {ranks} GPUs"),
                _ => format!("MPI, {ranks} processes"),
            },
            one_ms: 1e3 * one[0],
            one_strong_ms: 1e3 * one[1],
            weak: vec![weak],
            strong: vec![strong],
            all_reduces,
            cost: Cost::fit(&messages)?,
            messages,
        })
    };
    leads.then(engine).transpose()
}

fn all_reduced(
    args: &Args,
    processes: &dyn Processes,
    links: &dyn parallel::Collective,
    bytes: usize,
) -> Result<AllReduced> {
    let ring: AllReduce = Arc::new(ring_all_reduce);
    let numbers = bytes / size_of::<f32>();
    let seconds = processes.all_reduce_seconds(links, &ring, numbers, args.repeats)?;
    Ok(AllReduced {
        ranks: links.world_size(),
        bytes,
        engine_us: 1e6 * seconds.engine,
        direct_us: Some(1e6 * seconds.direct),
        ring_us: 1e6 * seconds.ring,
        tree_us: 1e6 * seconds.tree,
    })
}

/// Calls mpirun with this program for each number of ranks above 1.
///
/// # Errors
/// Returns an error if this program was built without MPI, there is no mpirun, or a job fails.
pub fn start(args: &Args) -> Result<Vec<Engine>> {
    #[derive(Deserialize)]
    struct Found {
        engines: Vec<Engine>,
    }
    let mut engines = Vec::new();
    for &ranks in args.ranks.iter().filter(|&&ranks| ranks > 1) {
        engines.extend(by_mpirun::found::<Found>(ranks)?.engines);
    }
    Ok(engines)
}
