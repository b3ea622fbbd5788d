//! The experiment of lesson 04: the same step against batch size, on the CPU and, if there is one, on a GPU; the memory of a
//! step as counted and as measured; a training run that is stopped and resumed.
//!
//! `cargo run -p lesson04` prints tables and writes two plots to `runs/lesson04`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

#[macro_use]
extern crate lesson04;

mod experiment;

use std::{alloc::System, process::ExitCode};

use anyhow::Result;
use canopy::train::memory::Counted;
use experiment::{bench, memory, speed, train};
use grader::{
    cells,
    experiment::Report,
    table::{Table, count, fixed},
};
use lesson04::{LESSON, Lesson04};

/// Counts the bytes of tensors, for the memory measurement.
#[global_allocator]
static ALLOCATOR: Counted<System> = Counted(System);

fn main() -> ExitCode {
    grader::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson04, report: &mut Report) -> Result<()> {
    let devices = bench::devices(answer)?;
    report.say(format!("\n'auto' is {}", devices.said));
    report.json("device", devices.said.clone());
    let speeds = speed::measure(answer, &devices)?;
    let title = format!(
        "A training step of the vanilla PointNet on clouds of {} points, clouds per second",
        speed::POINTS
    );
    report.table("speed", &title, &speed::table(&speeds));
    if devices.all.len() == 1 {
        report.say("gpu: not run on a GPU");
    }
    let budgets = memory::measure(answer)?;
    let title = format!(
        "The largest batch that fits in a memory budget, MiB\n\
         (a quarter of the width, clouds of {} points)",
        memory::POINTS
    );
    report.table("memory", &title, &memory::table(&budgets));
    report.done("memory");
    let run = train::run(answer, report.seed())?;
    let mut table = Table::new([
        count("epoch"),
        count("steps"),
        count("waits"),
        fixed("mean loss", 3),
        fixed("accuracy", 3),
        fixed("balanced", 3),
        fixed("macro F1", 3),
    ]);
    for (i, e) in run.epochs.iter().enumerate() {
        let s = &e.scores;
        let (accuracy, balanced) = (s.accuracy, s.balanced_accuracy);
        table.row(cells![
            i + 1,
            e.steps,
            e.waits,
            e.loss,
            accuracy,
            balanced,
            s.macro_f1
        ]);
    }
    let title = format!(
        "Training at a quarter of the width, {} trees of {} points;\nscores on {} trees of other plots",
        run.trees,
        train::POINTS,
        run.unseen
    );
    report.table("training", &title, &table);
    report.say(format!(
        "\nStopped in epoch 3, resumed, and trained to the end: of {} tensors of network and \
         optimizer, {} differ from those of the run that was not stopped.",
        run.tensors, run.differ
    ));
    report.json("resumed_tensors", run.tensors);
    report.json("resumed_tensors_that_differ", run.differ);
    report.file("04-speed.svg", speed::plot(&speeds).svg());
    report.file("04-memory.svg", memory::plot(&budgets).svg());
    Ok(())
}
