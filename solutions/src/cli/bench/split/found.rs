//! The results of `canopy bench split`.

use anyhow::Result;
use serde::Serialize;

use crate::{
    parallel::measure::median,
    split::{
        Action, Bytes, RankRun, Run, Setting, Slot, Times, activations_held, bubble_in_theory, bytes_of_rank,
        measured_bubble, sent_by_rank, simulate,
    },
    train::machine,
};

/// The results.
#[derive(Debug, Serialize)]
pub struct Found {
    pub bench: &'static str,
    pub processor: String,
    pub cores: usize,
    pub setting: Setting,
    pub losses: Vec<f64>,
    /// Time of the fastest step, in ms.
    pub step_ms: f64,
    pub pipeline: Option<Pipeline>,
    pub ranks: Vec<Row>,
    /// What all ranks together keep by count, and the most that they had allocated, in bytes.
    pub counted: u64,
    pub allocated: Option<u64>,
    pub traffic: Vec<Axis>,
}

/// The bubble: idle time as a fraction of computing time.
#[derive(Debug, Serialize)]
pub struct Pipeline {
    /// With equal stages.
    pub theory: f64,
    /// By simulating the schedule with the measured times of the stages.
    pub simulated: f64,
    /// The median of the steps after the first.
    pub measured: f64,
    /// Forward passes whose backward passes are missing, at most, by rank.
    pub held: Vec<usize>,
    #[serde(skip)]
    pub times: [Times; 2],
    #[serde(skip)]
    pub orders: Vec<Vec<Slot>>,
}

#[derive(Debug, Serialize)]
pub struct Row {
    pub rank: usize,
    pub counted: Bytes,
    pub predicted: Bytes,
    /// The most that its process had allocated, in bytes, if the ranks are processes.
    pub allocated: Option<u64>,
}

/// What the rank that sends most sends along an axis of the mesh in a step.
#[derive(Debug, Serialize)]
pub struct Axis {
    pub axis: &'static str,
    pub ranks: usize,
    pub messages: u64,
    pub bytes: u64,
    pub predicted_bytes: u64,
}

/// Evaluates a run.
///
/// # Errors
/// Returns an error if the setting does not fit together.
pub fn evaluate(setting: Setting, run: &Run) -> Result<Found> {
    let mut rows = Vec::new();
    for (rank, found) in run.ranks.iter().enumerate() {
        rows.push(Row {
            rank,
            counted: found.bytes,
            predicted: bytes_of_rank(&setting, rank)?,
            allocated: found.allocated,
        });
    }
    Ok(Found {
        bench: "split",
        processor: machine::processor(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        losses: run.losses(&setting),
        step_ms: run.fastest().1 * 1e3,
        pipeline: (setting.stages() > 1).then(|| pipeline(&setting, run)),
        counted: rows.iter().map(|row| row.counted.total()).sum(),
        ranks: rows,
        allocated: run.allocated,
        traffic: traffic(&setting, run)?,
        setting,
    })
}

/// The ranks of the first pipeline of the mesh.
fn first_pipeline<'a>(setting: &Setting, run: &'a Run) -> Vec<&'a RankRun> {
    let between = setting.mesh.ranks() / setting.mesh.pipeline;
    run.ranks.iter().step_by(between).collect()
}

fn pipeline(setting: &Setting, run: &Run) -> Pipeline {
    let ranks = first_pipeline(setting, run);
    let of_step = |step: usize| -> Times { ranks.iter().map(|r| r.times[step].clone()).collect() };
    let steps = run.ranks.first().map_or(0, |r| r.times.len());
    let measured: Vec<f64> = (steps.min(2) - 1..steps)
        .map(|step| measured_bubble(&of_step(step)))
        .collect();
    let fastest = of_step(run.fastest().0);
    let orders = setting.orders();
    let seconds = |stage: usize, action: Action| mean_seconds(setting, &orders, &fastest, stage, action);
    let predicted = simulate(&orders, setting.chunks, seconds).unwrap_or_default();
    let held = |order: &Vec<Slot>| activations_held(&order.iter().map(|s| s.action).collect::<Vec<_>>());
    Pipeline {
        theory: bubble_in_theory(setting),
        simulated: measured_bubble(&predicted),
        measured: median(&measured),
        held: orders.iter().map(held).collect(),
        times: [fastest, predicted],
        orders,
    }
}

/// The mean time of the passes of `stage` in the direction of `action`.
fn mean_seconds(setting: &Setting, orders: &[Vec<Slot>], times: &Times, stage: usize, action: Action) -> f64 {
    let (chunk, rank) = (stage / setting.mesh.pipeline, stage % setting.mesh.pipeline);
    let is_forward = |action: Action| matches!(action, Action::Forward(_));
    let alike = |slot: &Slot| slot.chunk == chunk && is_forward(slot.action) == is_forward(action);
    let slots = orders[rank]
        .iter()
        .zip(&times[rank])
        .filter(|(slot, _)| alike(slot));
    let (count, sum) = slots.fold((0.0, 0.0), |(n, sum), (_, (start, end))| {
        (n + 1.0, sum + end - start)
    });
    sum / f64::max(count, 1.0)
}

fn traffic(setting: &Setting, run: &Run) -> Result<Vec<Axis>> {
    let mesh = setting.mesh;
    let sizes = [mesh.tensor, mesh.sequence, mesh.data, mesh.pipeline];
    let mut axes = Vec::new();
    for (i, size) in sizes.into_iter().enumerate().filter(|(_, size)| *size > 1) {
        let sent = |run: &RankRun| run.sent.axes()[i].1;
        let most = run
            .ranks
            .iter()
            .map(sent)
            .max_by_key(|t| t.bytes)
            .unwrap_or_default();
        let mut predicted = 0;
        for rank in 0..mesh.ranks() {
            predicted = predicted.max(sent_by_rank(setting, rank)?.axes()[i].1.bytes);
        }
        axes.push(Axis {
            axis: run.ranks[0].sent.axes()[i].0,
            ranks: size,
            messages: most.messages,
            bytes: most.bytes,
            predicted_bytes: predicted,
        });
    }
    Ok(axes)
}
