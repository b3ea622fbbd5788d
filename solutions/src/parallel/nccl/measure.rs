//! Measures all-reduces over NCCL: the engine's, NCCL called directly, and a ring and a tree over its messages.

use std::time::Instant;

use anyhow::Result;
use candle_core::{DType, Tensor};

use super::{calls::Calls, endpoint::Endpoint};
use crate::parallel::{
    AllReduce, Collective, OnTensors, Operation,
    measure::{Messages, Seconds, median},
    tree_all_reduce,
};

/// As [`crate::parallel::Processes::all_reduce_seconds`]. The engine and NCCL sum a tensor on the device; the messages of ring
/// and tree start and end on the host. The four take turns, so that other work on the machine slows all of them.
pub fn all_reduces<C: Calls>(
    links: &Endpoint<C>,
    ring: &AllReduce,
    numbers: usize,
    repeats: usize,
) -> Result<Seconds> {
    let mut data = vec![1.0; numbers];
    let tensor = Tensor::ones(numbers, DType::F32, links.device())?;
    let mut times = [const { Vec::new() }; 4];
    // The first turn warms up and is not counted.
    for turn in 0..=repeats {
        for (which, times) in times.iter_mut().enumerate() {
            data.fill(1.0);
            links.barrier()?;
            let began = Instant::now();
            match which {
                0 => drop(links.start(Operation::AllReduce(&tensor))?.finish()?),
                1 => links.directly(&Operation::AllReduce(&tensor))?,
                2 => ring(&Messages(links), &mut data)?,
                _ => tree_all_reduce(&Messages(links), &mut data)?,
            }
            if turn > 0 {
                times.push(began.elapsed().as_secs_f64());
            }
        }
    }
    let [engine, direct, ring, tree] = times.map(|times| median(&times));
    Ok(Seconds {
        engine,
        direct,
        ring,
        tree,
    })
}
