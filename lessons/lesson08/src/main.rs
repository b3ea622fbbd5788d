//! The experiment of lesson 08: the same training on 1, 2 and 4 ranks, threads of this machine; what messages between them
//! cost; and what that says of up to 4,096 ranks.
//!
//! `cargo run -p lesson08` prints tables and writes two plots to `runs/lesson08`. `-- --reference` takes canopy's
//! functions in the place of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

mod experiment;

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use experiment::{found::Found, messages, runs::Forest};
use grader::experiment::{Options, program};
use lesson08::{LESSON, STUDENT};

fn main() -> ExitCode {
    program("lesson08", run)
}

fn run() -> Result<()> {
    let options = Options::of("lesson08")?;
    let (answer, pieces) = LESSON.pieces(STUDENT, options.reference)?;
    options.say_pieces(&pieces);
    let place = (answer.place_from)(&|name| std::env::var(name).ok())?;
    let device = (answer.device_for)(&place, 0)?;
    options.say(&format!(
        "\nThis process is rank {} of {}, local rank {} (launcher: {}), on the {device}.\n",
        place.rank, place.world_size, place.local_rank, place.launcher
    ));
    let began = Instant::now();
    let forest = Forest::open(options.seed)?;
    let runs = forest.all(&answer)?;
    let found = Found {
        seed: options.seed,
        clouds: forest.records.len(),
        messages: messages::measured(&answer, runs.shared[0].params.len())?,
        runs,
        answer,
        seconds: began.elapsed().as_secs_f64(),
    };
    options.finish(
        found.plots().into_iter().map(|(name, plot)| (name, plot.svg())),
        || format!("{:#}", found.json()),
        || found.tables(),
    )
}
