//! The interleaved schedule, with canopy's order: no exercise asks for it.

use anyhow::{Context, Result};
use canopy::split::{Action, Slot, activations_held, interleaved_order, measured_bubble, simulate};
use lesson10::simulate::Pass;

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
    let takes = |_, action| match action {
        Action::Forward(_) => FORWARD / CHUNKS as f64,
        Action::Backward(_) => BACKWARD / CHUNKS as f64,
    };
    let times = simulate(&orders, CHUNKS, takes).context("the ranks wait for each other")?;
    let held = |order: &Vec<Slot>| {
        let actions: Vec<Action> = order.iter().map(|slot| slot.action).collect();
        activations_held(&actions) as f64 / CHUNKS as f64
    };
    Ok(Interleaved {
        simulated: measured_bubble(&times),
        passes: measured(&orders, CHUNKS)?,
        held: orders.iter().map(held).collect(),
    })
}
