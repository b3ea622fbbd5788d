//! The experiment of lesson 10: schedules of a pipeline, simulated and measured; two stages on two ranks against one rank; two
//! layers split over ranks; and the models of a paper, up to a trillion parameters.
//!
//! `cargo run -p lesson10` prints tables and writes plots to `runs/lesson10`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

#[macro_use]
extern crate lesson10;

mod experiment;

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use candle_core::Device;
use canopy::{
    split::Action,
    train::short::{Forest, small},
};
use experiment::{
    interleaved,
    layers::{Layers, SHAPE, difference, mean_sent, ring},
    network::{Batch, Trained, on_one_rank, on_two_ranks},
    pipeline::{BACKWARD, FORWARD, measured},
    timeline, trillion,
};
use grader::{
    cells,
    experiment::Report,
    table::{Table, count, fixed, left, percent, scientific},
};
use lesson10::{
    LESSON, Lesson10,
    simulate::{finish, in_one_chunk, simulate},
};

/// Stages of the pipelines in the timelines.
const STAGES: usize = 4;
/// Micro-batches of a batch that is drawn.
const DRAWN: usize = 8;
/// Points of a cloud.
const POINTS: usize = 64;

fn main() -> ExitCode {
    grader::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson10, report: &mut Report) -> Result<()> {
    schedules(answer, report)?;
    report.done("schedules");
    two_stages(answer, report)?;
    report.done("two stages");
    layers(answer, report)?;
    report.table(
        "trillion",
        "Narayanan et al. 2021, table 1, from its own numbers",
        &trillion::recomputed(answer),
    );
    report.say(format!(
        "450 billion tokens with the largest model take {:.0} days",
        trillion::days()
    ));
    report.table(
        "planned",
        "Splits as tensor × pipeline × data, and GB that a GPU keeps: the paper's, and the first plan that fits in 80 GB",
        &trillion::planned(answer),
    );
    Ok(())
}

/// The orders of all stages.
fn orders(
    order: fn(usize, usize, usize) -> Vec<Action>,
    stages: usize,
    micro_batches: usize,
) -> Vec<Vec<Action>> {
    (0..stages)
        .map(|stage| order(stage, stages, micro_batches))
        .collect()
}

fn schedules(answer: &Lesson10, report: &mut Report) -> Result<()> {
    report.say(format!(
        "\nA pipeline of {STAGES} stages. A forward pass takes {FORWARD} ms, a backward pass {BACKWARD} ms."
    ));
    let mut table = Table::new([
        left("schedule"),
        count("micro"),
        percent("formula", 0),
        percent("simulated", 0),
        percent("measured", 0),
        fixed("a step", 0).unit("ms"),
        count("held: first"),
        count("last"),
    ]);
    let both = [("GPipe", answer.gpipe_order), ("1F1B", answer.one_f_one_b_order)];
    let (mut simulated, mut real) = (Vec::new(), Vec::new());
    for micro_batches in [1, 4, DRAWN, 16] {
        for (name, order) in both {
            let orders = orders(order, STAGES, micro_batches);
            let predicted =
                simulate(&orders, FORWARD, BACKWARD).map_err(|stuck| anyhow!("{name}: {stuck}"))?;
            let passes = measured(&in_one_chunk(&orders), 1)?;
            let held = |stage: usize| (answer.activations_held)(&orders[stage]);
            table.row(cells![
                if micro_batches == 1 { "naive" } else { name },
                micro_batches,
                (answer.bubble)(STAGES, micro_batches),
                timeline::bubble(&predicted, STAGES),
                timeline::bubble(&passes, STAGES),
                finish(&passes),
                held(0),
                held(STAGES - 1)
            ]);
            if micro_batches == DRAWN {
                simulated.push((name, predicted));
                real.push((name, passes));
            }
            // With one micro-batch, both schedules are the naive one.
            if micro_batches == 1 {
                break;
            }
        }
        if micro_batches > 1 {
            let run = interleaved::run(STAGES, micro_batches)?;
            table.row(cells![
                "interleaved",
                micro_batches,
                (answer.bubble)(STAGES, micro_batches) / interleaved::CHUNKS as f64,
                run.simulated,
                timeline::bubble(&run.passes, STAGES),
                finish(&run.passes),
                run.held[0],
                run.held[STAGES - 1]
            ]);
        }
    }
    report.table("schedules", "", &table);
    for (what, file, runs) in [
        ("Simulated", "10-simulated.svg", simulated),
        ("Measured", "10-measured.svg", real),
    ] {
        let title = format!("{what}: {DRAWN} micro-batches, {STAGES} stages");
        report.file(file, timeline::plot(&title, &runs, STAGES).svg());
    }
    Ok(())
}

fn two_stages(answer: &Lesson10, report: &mut Report) -> Result<()> {
    let forest = Forest::open(small(POINTS, report.seed()))?;
    let classes = forest.data.species.len();
    let to_cpu = |batch: Result<Batch>| -> Result<Batch> {
        let (points, labels) = batch?;
        Ok((points.to_device(&Device::Cpu)?, labels.to_device(&Device::Cpu)?))
    };
    let batches: Vec<Batch> = forest.epoch(0, 32).map(to_cpu).collect::<Result<_>>()?;
    let steps = batches.len();
    report.say(format!(
        "\nA small PointNet in two stages, {steps} steps with 32 trees of {POINTS} points: one rank with the whole network \
         against two ranks with a stage each."
    ));
    let mut table = Table::new([
        left("training"),
        count("micro"),
        count("held"),
        fixed("first loss", 5),
        fixed("last loss", 5),
        scientific("off by: a step"),
        scientific("all"),
    ]);
    let first = on_one_rank(&batches[..1], classes, report.seed())?;
    let one = on_one_rank(&batches, classes, report.seed())?;
    let row = |name: &str, m: usize, after: [&Trained; 2]| {
        cells![
            name,
            m,
            after[1].held,
            after[1].losses[0],
            after[1].losses[steps - 1],
            largest(&after[0].parameters, &first.parameters),
            largest(&after[1].parameters, &one.parameters)
        ]
    };
    table.row(row("one rank", 1, [&first, &one]));
    for (name, order, m) in [
        ("two ranks, naive", answer.gpipe_order, 1),
        ("two ranks, GPipe", answer.gpipe_order, 4),
        ("two ranks, 1F1B", answer.one_f_one_b_order, 4),
    ] {
        let orders = [order(0, 2, m), order(1, 2, m)];
        let run = |batches: &[Batch]| on_two_ranks(&orders, m, batches, classes, report.seed());
        table.row(row(name, m, [&run(&batches[..1])?, &run(&batches)?]));
    }
    report.table("two_stages", "", &table);
    Ok(())
}

/// The largest difference.
fn largest(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| f64::from((a - b).abs()))
        .fold(0.0, f64::max)
}

fn layers(answer: &Lesson10, report: &mut Report) -> Result<()> {
    let [rows, inputs, hidden, outputs] = SHAPE;
    report.say(format!(
        "\nTwo linear layers, {inputs} → {hidden} → {outputs}, {rows} rows: the first split by columns, the second by rows. Numbers that \
         a rank sends forward and backward, as a mean over the ranks, and what a ring all-reduce sends: 2(p − 1)/p times rows × width."
    ));
    let all = Layers::drawn(report.seed())?;
    let one = all.split(answer, 1)?;
    let mut table = Table::new([
        count("ranks"),
        count("parameters"),
        count("forward"),
        count("ring, forward"),
        count("backward"),
        count("ring, backward"),
        scientific("off by"),
    ]);
    for world in [1, 2, 3, 4] {
        let parts = all.split(answer, world)?;
        table.row(cells![
            world,
            parts[0].parameters,
            mean_sent(&parts, 0).round() as usize,
            ring(rows * outputs, world).round() as usize,
            mean_sent(&parts, 1).round() as usize,
            ring(rows * inputs, world).round() as usize,
            difference(&parts, &one[0])?
        ]);
    }
    report.table("layers", "", &table);
    Ok(())
}
