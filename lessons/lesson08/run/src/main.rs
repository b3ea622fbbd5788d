//! The experiment of lesson 08: the same training on 1, 2 and 4 ranks, which are threads of this machine; the cost of messages
//! between them; and the prediction that follows for up to 4,096 ranks.
//!
//! `cargo run -p lesson08` prints tables and writes two plots to `runs/lesson08`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.
//!
//! Built with `--features canopy/mpi` and started by `mpirun -n 2`, it compares the same training over MPI with that of threads,
//! and your ring with MPI's all-reduce.

#[macro_use]
extern crate lesson08;

mod experiment;

use std::process::ExitCode;

use anyhow::Result;
use canopy::parallel::Place;
use experiment::{
    messages, processes,
    results::Results,
    runs::{EACH, POINTS, SHARED, TrainingSet},
};
use grader::experiment::Report;
use lesson08::{LESSON, Lesson08};

fn main() -> ExitCode {
    match processes::started() {
        Some(place) if place.rank > 0 => {
            grader::experiment::run_quietly(&LESSON, student!(), processes::experiment)
        }
        Some(_) => grader::experiment::run(&LESSON, student!(), processes::experiment),
        None => grader::experiment::run(&LESSON, student!(), experiment),
    }
}

fn experiment(answer: &Lesson08, report: &mut Report) -> Result<()> {
    introduce(answer, report)?;
    let trees = TrainingSet::open(report.seed())?;
    let runs = trees.all(answer)?;
    let parameters = runs.shared[0].params.len();
    report.say(format!(
        "\nA half-wide PointNet of {parameters} parameters, {} trees of {POINTS} points, {} steps;\n\
         each rank has one thread.",
        trees.records.len(),
        runs.shared[0].steps
    ));
    report.json("parameters", parameters);
    let results = Results {
        messages: messages::measured(answer, parameters)?,
        runs,
        answer: *answer,
    };
    let title = format!("Strong scaling: batches of {SHARED}, shared by all ranks");
    report.table("shared", &title, &results.shared());
    let title = format!("Weak scaling: batches grow with the ranks, {EACH} clouds on each");
    report.table("grown", &title, &results.grown());
    report.table("messages", "", &results.timed());
    let cost = results.messages.cost;
    report.say(format!(
        "α = {:.1} µs, β = {:.2} ns per byte ({:.1} GB/s)",
        cost.alpha * 1e6,
        cost.beta * 1e9,
        1e-9 / cost.beta
    ));
    report.json("alpha", cost.alpha);
    report.json("beta", cost.beta);
    report.table("all_reduce", "All-reduce of the gradients", &results.all_reduce());
    report.file("08-scaling.svg", results.scaling_plot().svg());
    report.file("08-sums.svg", results.all_reduce_plot().svg());
    Ok(())
}

/// Prints the result of exercise 8.5.
pub(crate) fn introduce(answer: &Lesson08, report: &Report) -> Result<Place> {
    let place = (answer.place_from)(&|name| std::env::var(name).ok())?;
    let device = (answer.device_for)(&place, 0)?;
    report.say(format!(
        "\nThis process is rank {} of {}, local rank {} (launcher: {}), on the {device}.",
        place.rank, place.world_size, place.local_rank, place.launcher
    ));
    Ok(place)
}
