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
use lesson10::simulate::{Pass, finish};

use super::on_ranks;

/// Time of a forward pass, and of a backward pass, in milliseconds.
pub const FORWARD: f64 = 4.0;
pub const BACKWARD: f64 = 8.0;

/// Runs are repeated, because a thread may wake late if other programs use the cores.
const REPEATS: usize = 5;

/// The fastest of some runs of [`once`].
pub fn measured(orders: &[Vec<Action>]) -> Result<Vec<Pass>> {
    let mut fastest = once(orders)?;
    for _ in 1..REPEATS {
        let run = once(orders)?;
        if finish(&run) < finish(&fastest) {
            fastest = run;
        }
    }
    Ok(fastest)
}

/// Runs the passes of `orders`, one list for each stage, and returns when each stage computed what, in milliseconds.
fn once(orders: &[Vec<Action>]) -> Result<Vec<Pass>> {
    let stages = on_ranks(orders.len(), |rank| run(rank, &orders[rank.rank()]))?;
    Ok(stages.into_iter().flatten().collect())
}

fn run(rank: &Rank, order: &[Action]) -> Result<Vec<Pass>> {
    let (stage, last) = (rank.rank(), rank.world_size() - 1);
    let mut passes = Vec::new();
    rank.barrier()?;
    let began = Instant::now();
    for &action in order {
        let (micro_batch, from, to, takes) = match action {
            Action::Forward(i) => (
                i,
                stage.checked_sub(1),
                (stage < last).then_some(stage + 1),
                FORWARD,
            ),
            Action::Backward(i) => (
                i,
                (stage < last).then_some(stage + 1),
                stage.checked_sub(1),
                BACKWARD,
            ),
        };
        if let Some(from) = from {
            let mut number = [0.0];
            rank.receive(from, &mut number)?;
            ensure!(
                number[0] as usize == micro_batch,
                "stage {stage} needs micro-batch {micro_batch}, and stage {from} sent {}: their orders differ",
                number[0]
            );
        }
        let start = began.elapsed().as_secs_f64() * 1e3;
        sleep(Duration::from_secs_f64(takes * 1e-3));
        let end = began.elapsed().as_secs_f64() * 1e3;
        passes.push(Pass {
            stage,
            action,
            start,
            end,
        });
        if let Some(to) = to {
            rank.send(to, &[micro_batch as f32])?;
        }
    }
    Ok(passes)
}
