//! A pipeline of stages that are threads. A pass is simulated: the thread sleeps, as long as a device would compute. So four
//! stages overlap on any number of cores, and what remains are the order of the passes and the messages between the stages.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use canopy::{
    parallel::{Collective, Link, Rank},
    split::Action,
};
use lesson10::simulate::{Pass, Slot, finish};

use super::on_ranks;

/// Time of a forward pass, and of a backward pass, in milliseconds.
pub const FORWARD: f64 = 4.0;
pub const BACKWARD: f64 = 8.0;

/// Runs are repeated, because a thread may wake late if other programs use the cores.
const REPEATS: usize = 5;

/// The fastest of some runs of [`once`].
pub fn measured(orders: &[Vec<Slot>], chunks: usize) -> Result<Vec<Pass>> {
    let mut fastest = once(orders, chunks)?;
    for _ in 1..REPEATS {
        let run = once(orders, chunks)?;
        if finish(&run) < finish(&fastest) {
            fastest = run;
        }
    }
    Ok(fastest)
}

/// Runs the passes of `orders`, one list for each rank with `chunks` stages, and returns when each rank computed what, in
/// milliseconds. [`FORWARD`] and [`BACKWARD`] are the times of all stages of a rank.
fn once(orders: &[Vec<Slot>], chunks: usize) -> Result<Vec<Pass>> {
    let ranks = on_ranks(orders.len(), |rank| run(rank, &orders[rank.rank()], chunks))?;
    Ok(ranks.into_iter().flatten().collect())
}

fn run(rank: &Rank, order: &[Slot], chunks: usize) -> Result<Vec<Pass>> {
    let (at, ranks) = (rank.rank(), rank.world_size());
    let last = ranks * chunks - 1;
    let mut passes = Vec::new();
    rank.barrier()?;
    let began = Instant::now();
    for &Slot { chunk, action } in order {
        let stage = chunk * ranks + at;
        let (before, after) = (stage.checked_sub(1), (stage < last).then_some(stage + 1));
        let (micro_batch, from, to, takes) = match action {
            Action::Forward(i) => (i, before, after, FORWARD),
            Action::Backward(i) => (i, after, before, BACKWARD),
        };
        if let Some(from) = from {
            let mut message = [0.0; 2];
            rank.receive(from % ranks, &mut message)?;
            ensure!(
                message == [stage as f32, micro_batch as f32],
                "stage {stage} needs micro-batch {micro_batch}, and stage {from} sent {} for stage {}: their orders differ",
                message[1],
                message[0]
            );
        }
        let start = began.elapsed().as_secs_f64() * 1e3;
        sleep(Duration::from_secs_f64(takes * 1e-3 / chunks as f64));
        let end = began.elapsed().as_secs_f64() * 1e3;
        passes.push(Pass {
            stage: at,
            action,
            start,
            end,
        });
        if let Some(to) = to {
            rank.send(to % ranks, &[to as f32, micro_batch as f32])?;
        }
    }
    Ok(passes)
}
