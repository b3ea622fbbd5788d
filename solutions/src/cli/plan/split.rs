//! `canopy plan --tensor … --pipeline …`: what each rank of a split model keeps and sends, and how long it is idle.

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::{
    cli::mesh,
    parallel::Cost,
    split::{
        Bytes, Setting, Slot, activations_held, bubble_in_theory, bytes_of_rank, forecast, measured_bubble,
        meshes_that_fit, sent_by_rank,
    },
    train::machine::mib,
};

/// The plan of a split model.
#[derive(Debug, Serialize)]
pub struct Plan {
    setting: Setting,
    budget: u64,
    ranks: Vec<Row>,
    /// Bytes that the rank that sends most sends in a step, by axis of the mesh.
    sent: Vec<(&'static str, u64)>,
    bubble: Bubble,
    /// Time of a step, in seconds.
    seconds: Option<Seconds>,
    advice: String,
}

#[derive(Debug, Serialize)]
struct Row {
    rank: usize,
    /// Layers of its stages.
    layers: Vec<usize>,
    bytes: Bytes,
    /// Forward passes held whose backward passes are missing.
    held: usize,
    fits: bool,
}

/// Idle time as a fraction of computing time.
#[derive(Debug, Serialize)]
struct Bubble {
    equal_stages: f64,
    these_stages: f64,
}

#[derive(Debug, Serialize)]
struct Seconds {
    /// On one rank, as given.
    one_rank: f64,
    /// Computing and idle time.
    computing: f64,
    sending: f64,
}

/// Plans a step of `batch` clouds, over all ranks. `network` is the time of the step on one rank, in seconds, and the cost of
/// a message.
///
/// # Errors
/// Returns an error if the numbers do not fit together.
pub fn plan(
    args: &mesh::Args,
    (batch, points, classes): (usize, usize, usize),
    budget: u64,
    network: Option<(f64, Cost)>,
) -> Result<Plan> {
    let parts = args.micro_batches * args.data;
    ensure!(
        parts > 0 && batch.is_multiple_of(parts),
        "--batch {batch} cannot be divided into {} micro-batches for each of {} data ranks: use a multiple of {parts}",
        args.micro_batches,
        args.data
    );
    let setting = args.setting(batch / parts, points, classes)?;
    let times = forecast(&setting)?;
    let orders = setting.orders();
    let mut rows = Vec::new();
    let mut sent = [("tensor", 0), ("sequence", 0), ("data", 0), ("pipeline", 0)];
    let mut sending = 0_f64;
    for rank in 0..setting.mesh.ranks() {
        let bytes = bytes_of_rank(&setting, rank)?;
        let axes = sent_by_rank(&setting, rank)?.axes();
        for (most, (_, traffic)) in sent.iter_mut().zip(axes) {
            most.1 = most.1.max(traffic.bytes);
        }
        let seconds = network.map_or(0.0, |(_, Cost { alpha, beta })| {
            axes.iter()
                .map(|(_, t)| t.messages as f64 * alpha + t.bytes as f64 * beta)
                .sum()
        });
        sending = sending.max(seconds);
        let share = setting.share(rank)?;
        let own = share
            .stages
            .iter()
            .skip(share.position.pipeline)
            .step_by(setting.mesh.pipeline);
        let actions: Vec<_> = orders[share.position.pipeline]
            .iter()
            .map(|slot: &Slot| slot.action)
            .collect();
        rows.push(Row {
            rank,
            layers: own.flatten().map(|layer| layer.index).collect(),
            bytes,
            held: activations_held(&actions),
            fits: bytes.total() <= budget,
        });
    }
    let end = times.iter().flatten().map(|t| t.1).fold(0.0, f64::max);
    Ok(Plan {
        budget,
        sent: sent.into_iter().filter(|(_, bytes)| *bytes > 0).collect(),
        bubble: Bubble {
            equal_stages: bubble_in_theory(&setting),
            these_stages: measured_bubble(&times),
        },
        seconds: network.map(|(one_rank, _)| Seconds {
            one_rank,
            computing: one_rank * end,
            sending,
        }),
        advice: advice(&setting, &rows, budget),
        ranks: rows,
        setting,
    })
}

fn advice(setting: &Setting, rows: &[Row], budget: u64) -> String {
    let Some(full) = rows.iter().find(|row| !row.fits) else {
        let mesh = setting.mesh;
        return match meshes_that_fit(setting, budget).first() {
            Some((fewer, bytes)) if fewer.ranks() < mesh.ranks() => format!(
                "It fits. So does --tensor {} --pipeline {} ({:.1} MiB a rank), which leaves ranks for more data.",
                fewer.tensor,
                fewer.pipeline,
                mib(*bytes)
            ),
            _ => "It fits, and fewer ranks would not: split the layers' numbers inside a node, where links are fast, and the \
                  layers between nodes."
                .into(),
        };
    };
    let needs = format!(
        "Rank {} needs {:.1} MiB and has {:.1} MiB.",
        full.rank,
        mib(full.bytes.total()),
        mib(budget)
    );
    let model = full.bytes.total() - full.bytes.activations;
    match meshes_that_fit(setting, budget).first() {
        Some((mesh, bytes)) => format!(
            "{needs} --tensor {} --pipeline {} fits: {:.1} MiB a rank.",
            mesh.tensor,
            mesh.pipeline,
            mib(*bytes)
        ),
        None if model < budget => {
            format!("{needs} Its activations are too large: use smaller micro-batches, and more of them.")
        }
        None => {
            format!("{needs} No split over tensor and pipeline ranks fits: use more memory a rank, or ZeRO.")
        }
    }
}

/// Prints the plan.
///
/// # Errors
/// Returns an error if standard output is closed.
pub fn print(plan: &Plan) -> Result<()> {
    let (setting, mesh) = (&plan.setting, plan.setting.mesh);
    say!(
        "a step of {} clouds on {} ranks: tensor {} × sequence {} × data {} × pipeline {}; {} micro-batches of {} clouds × {} \
         points",
        setting.batch(),
        mesh.ranks(),
        mesh.tensor,
        mesh.sequence,
        mesh.data,
        mesh.pipeline,
        setting.micro_batches,
        setting.clouds,
        setting.points
    );
    say!("\n{}    total  held  fits  layers", mesh::MEMORY);
    for Row {
        rank,
        layers,
        bytes,
        held,
        fits,
    } in &plan.ranks
    {
        let (parts, total) = (mesh::memory(*rank, *bytes), mib(bytes.total()));
        let fits = if *fits { "yes" } else { "no" };
        say!("{parts}{total:>9.1}{held:>6}  {fits:<6}{layers:?}");
    }
    for (axis, bytes) in &plan.sent {
        say!("{axis}: a rank sends up to {:.3} MiB in a step", mib(*bytes));
    }
    if mesh.pipeline > 1 {
        say!(
            "bubble: {:.3} with equal stages, {:.3} with these",
            plan.bubble.equal_stages,
            plan.bubble.these_stages
        );
    }
    if let Some(Seconds {
        one_rank,
        computing,
        sending,
    }) = plan.seconds
    {
        let step = computing + sending;
        say!(
            "a step: {computing:.4} s computing and idle, {sending:.4} s sending, {step:.4} s; {:.0} % efficient",
            100.0 * one_rank / (step * mesh.ranks() as f64)
        );
    }
    say!("\nA rank has {:.1} MiB. {}", mib(plan.budget), plan.advice);
    Ok(())
}
