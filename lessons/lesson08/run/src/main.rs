//! The experiment of lesson 08: the same training on 1, 2 and 4 ranks, which are threads of this machine; the cost of
//! messages between them; and the prediction that follows for up to 4,096 ranks.
//!
//! `cargo run -p lesson08` prints tables. `-- --reference` uses canopy's functions instead of yours, `-- --seed N`
//! another seed, `-- --json` prints JSON.
//!
//! Built with `--features canopy/mpi` and started by `mpirun -n 2`, it compares the same training over MPI with that of
//! threads, and your ring with MPI's all-reduce.

#[macro_use]
extern crate lesson08;

mod all_reduce;
mod processes;
mod scaling;
mod training;

use std::process::ExitCode;

use anyhow::Result;
use canopy::parallel::Place;
use kit::experiment::Report;
use lesson08::{LESSON, Lesson08};
use scaling::{EACH, SHARED};
use training::{POINTS, Training};

fn main() -> ExitCode {
    match processes::started() {
        Some(place) if place.rank > 0 => {
            kit::experiment::run_quietly(&LESSON, student!(), processes::experiment)
        }
        Some(_) => kit::experiment::run(&LESSON, student!(), processes::experiment),
        None => kit::experiment::run(&LESSON, student!(), experiment),
    }
}

fn experiment(answer: &Lesson08, report: &mut Report) -> Result<()> {
    introduce(answer, report)?;
    let training = Training::open(answer, report.seed())?;
    let (one, table) = scaling::strong(&training)?;
    let parameters = one.params.len();
    report.say(format!(
        "\nA half-wide PointNet of {parameters} parameters, {} trees of {POINTS} points, {} steps;\n\
         each rank has one thread.",
        training.forest.split.train.len(),
        one.steps
    ));
    report.json("parameters", parameters);
    let title = format!("Strong scaling: batches of {SHARED}, shared by all ranks");
    report.table("shared", &title, &table);
    let (step, table) = scaling::weak(&training)?;
    let title = format!("Weak scaling: batches grow with the ranks, {EACH} clouds on each");
    report.table("grown", &title, &table);
    let cost = all_reduce::cost()?;
    report.say(format!(
        "\nα = {:.1} µs, β = {:.2} ns per byte ({:.1} GB/s)",
        cost.alpha * 1e6,
        cost.beta * 1e9,
        1e-9 / cost.beta
    ));
    report.json("alpha", cost.alpha);
    report.json("beta", cost.beta);
    let table = all_reduce::table(answer, parameters, cost, step)?;
    report.table("all_reduce", "All-reduce of the gradients", &table);
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
