//! The interleaved schedule: no exercise asks for it.

use anyhow::{Result, anyhow};
use canopy::split::{Action, activations_held};
use lesson10::simulate::{Pass, Slot, finish, interleaved_order, simulate_chunks};

use super::pipeline::{BACKWARD, FORWARD, measured};

/// Stages of a rank. Each takes 1/`CHUNKS` of the time of a whole one.
pub const CHUNKS: usize = 2;

/// A pipeline with the interleaved schedule.
pub struct Interleaved {
    /// The bubble of the simulation.
    pub simulated: f64,
    /// The passes of a run.
    pub passes: Vec<Pass>,
    /// For each rank, the activations that it holds at most, in those of a whole stage.
    pub held: Vec<f64>,
}

/// Simulates and runs a pipeline of `ranks` ranks.
pub fn run(ranks: usize, micro_batches: usize) -> Result<Interleaved> {
    let orders: Vec<Vec<Slot>> = (0..ranks)
        .map(|rank| interleaved_order(rank, ranks, CHUNKS, micro_batches))
        .collect();
    let [forward, backward] = [FORWARD, BACKWARD].map(|takes| takes / CHUNKS as f64);
    let passes = simulate_chunks(&orders, CHUNKS, forward, backward).map_err(|stuck| anyhow!(stuck))?;
    let busy = micro_batches as f64 * (FORWARD + BACKWARD);
    let held = |order: &Vec<Slot>| {
        let actions: Vec<Action> = order.iter().map(|slot| slot.action).collect();
        activations_held(&actions) as f64 / CHUNKS as f64
    };
    Ok(Interleaved {
        simulated: finish(&passes) / busy - 1.0,
        passes: measured(&orders, CHUNKS)?,
        held: orders.iter().map(held).collect(),
    })
}
