//! The experiment of lesson 07: short trainings of a small PointNet against batch size, with and without the remedies;
//! the loss around the weights where each ended; a range test; accumulation.
//!
//! `cargo run -p lesson07` prints tables and writes two plots to `runs/lesson07`. `-- --reference` uses canopy's
//! functions instead of yours, `-- --seed N` another seed, `-- --seeds N` repeats the trainings, `-- --out FOLDER`
//! another folder, `-- --json` prints JSON.

#[macro_use]
extern crate lesson07;

mod accumulate;
mod results;
mod train;

use std::process::ExitCode;

use accumulate::{LARGE, MICRO};
use anyhow::Result;
use grader::number;
use kit::{
    experiment::{Report, json},
    table::{fixed, percent},
};
use lesson07::{LESSON, Lesson07};
use results::{Row, table};
use train::{Cure, EPOCHS, POINTS, Trees};

/// The batch sizes that are tried.
pub const BATCHES: [usize; 4] = [16, 64, 256, 512];

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson07, report: &mut Report) -> Result<()> {
    let of_seed = |seed| Trees::open(answer, seed);
    let seeds = report.seeds().map(of_seed).collect::<Result<Vec<_>>>()?;
    let trees = &seeds[0];
    report.say(format!(
        "\nA quarter-wide PointNet is trained on {} trees of {POINTS} points, {EPOCHS} epochs each time.",
        trees.forest.split.train.len()
    ));
    let mut rows: Vec<Row> = Vec::new();
    for cure in Cure::ALL {
        let of_size = |size| seeds.iter().map(|trees| trees.train(cure, size)).collect();
        rows.push((cure, BATCHES.into_iter().map(of_size).collect::<Result<_>>()?));
        report.done(cure.name());
    }
    let accuracy = table("accuracy", &rows, |batch| percent(batch, 1), |t| t.accuracy);
    report.table("accuracy", "", &accuracy);
    let loss = table("last training loss", &rows, |batch| fixed(batch, 3), |t| t.loss);
    report.table("loss", "", &loss);
    let sharpness = table("sharpness", &rows, |batch| fixed(batch, 3), |t| t.sharpness);
    report.table("sharpness", "", &sharpness);
    let range = trees.range()?;
    let least = range.losses.iter().copied().fold(f64::INFINITY, f64::min);
    report.say(format!(
        "\nRange test of SGD in batches of 32:\n{} rates, the last {}{};\n\
         least smoothed loss {least:.3}; suggestion {}.",
        range.rates.len(),
        range.rates.last().map_or("–".into(), |r| number(*r)),
        if range.broke {
            "; it diverged at the next"
        } else {
            ""
        },
        range.suggestion.map_or("none".into(), |r| format!("{r:.4}")),
    ));
    report.json("suggestion", json!(range.suggestion));
    let (plain, normed) = accumulate::differences(trees)?;
    report.say(format!(
        "\nGradient of {LARGE} clouds against micro-batches of {MICRO}, relative difference:\n\
         without batch norm {plain:.1e}, with batch norm {normed:.2}."
    ));
    report.json("accumulation", json!([plain, normed]));
    report.file("07-range.svg", results::range_plot(&range).svg())?;
    report.file("07-schedules.svg", results::schedules_plot(answer).svg())?;
    Ok(())
}
