//! The experiment of lesson 10: schedules of a pipeline, simulated; two layers split over ranks in both directions; and the
//! models of a paper, up to a trillion parameters.
//!
//! `cargo run -p lesson10` prints tables and writes a plot to `runs/lesson10`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

#[macro_use]
extern crate lesson10;

mod experiment;

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use experiment::{
    layers::{Layers, Part, SHAPE, on_ranks},
    timeline, trillion,
};
use kit::{
    experiment::Report,
    table::{Table, count, fixed, json, left, percent, scientific},
};
use lesson10::{
    LESSON, Lesson10,
    simulate::{finish, simulate},
};

/// Stages of the simulated pipelines, and the time of a forward pass and of a backward pass in milliseconds.
const STAGES: usize = 4;
const FORWARD: f64 = 4.0;
const BACKWARD: f64 = 8.0;
/// Micro-batches of the step that is drawn.
const DRAWN: usize = 8;

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson10, report: &mut Report) -> Result<()> {
    schedules(answer, report)?;
    layers(answer, report)?;
    report.table(
        "planned",
        "Models of Narayanan et al. 2021, in billions of parameters. Splits as tensor × pipeline × data: the paper's with its bubble, \
         and the first plan that fits in 80 GB, with the GB that a GPU keeps.",
        &trillion::planned(answer),
    );
    Ok(())
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
        fixed("a step", 0).unit("ms"),
        count("held: first"),
        count("last"),
    ]);
    let mut drawn = Vec::new();
    for micro_batches in [1, 4, DRAWN, 16] {
        for (name, order) in [("GPipe", answer.gpipe_order), ("1F1B", answer.one_f_one_b_order)] {
            let of_stage = |stage| order(stage, STAGES, micro_batches);
            let orders: Vec<_> = (0..STAGES).map(of_stage).collect();
            let passes = simulate(&orders, FORWARD, BACKWARD).map_err(|stuck| anyhow!("{name}: {stuck}"))?;
            table.row(json!([
                name,
                micro_batches,
                (answer.bubble)(STAGES, micro_batches),
                finish(&passes) / (micro_batches as f64 * (FORWARD + BACKWARD)) - 1.0,
                finish(&passes),
                (answer.activations_held)(&orders[0]),
                (answer.activations_held)(&orders[STAGES - 1])
            ]));
            if micro_batches == DRAWN {
                drawn.push((name, passes));
            }
        }
    }
    report.table("schedules", "", &table);
    report.file("10-simulated.svg", timeline::plot(&drawn, STAGES).svg())?;
    Ok(())
}

fn layers(answer: &Lesson10, report: &mut Report) -> Result<()> {
    let [rows, inputs, hidden, outputs] = SHAPE;
    let all = Layers::new(report.seed())?;
    let whole = all.on_one_rank(answer)?;
    report.say(format!(
        "\nTwo linear layers, {inputs} → {hidden} → {outputs}, {} parameters, {rows} rows, over ranks. Of each column, the largest of all \
         ranks: micro-batches held, parameters, numbers sent forward and backward, and the difference of outputs and gradients from \
         one rank's.",
        (inputs + 1) * hidden + (hidden + 1) * outputs
    ));
    let mut table = Table::new([
        left("split"),
        count("ranks"),
        count("micro"),
        count("held"),
        count("parameters"),
        count("forward"),
        count("backward"),
        scientific("off by"),
    ]);
    let mut row = |name: &str, ranks: usize, micro: usize, part: Part| {
        let [forward, backward] = part.sent;
        table.row(json!([
            name,
            ranks,
            micro,
            part.held,
            part.parameters,
            forward,
            backward,
            part.off
        ]));
    };
    for ranks in [2, 3, 4] {
        let part = on_ranks(ranks, |rank| all.tensor_parallel(answer, rank, &whole))?;
        row("tensor", ranks, 1, part);
    }
    for micro in [1, 4] {
        for (name, order) in [("GPipe", answer.gpipe_order), ("1F1B", answer.one_f_one_b_order)] {
            let orders = [order(0, 2, micro), order(1, 2, micro)];
            let part = on_ranks(2, |rank| all.pipeline(answer, rank, &orders, micro, &whole))?;
            row(name, 2, micro, part);
        }
    }
    report.table("layers", "", &table);
    Ok(())
}
