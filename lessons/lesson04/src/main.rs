//! The experiment of lesson 04: the same step against batch size, on the CPU and, where there is one, on a GPU; the memory of
//! a step counted and measured; a training that is broken off and taken up.
//!
//! `cargo run -p lesson04` prints tables and writes two plots to `runs/lesson04`. `-- --reference` takes canopy's functions in
//! the place of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

mod experiment;

use std::{alloc::System, process::ExitCode, time::Instant};

use anyhow::Result;
use canopy::train::memory::Counted;
use experiment::{found::Found, pieces, room, speed, train};
use grader::experiment::{Options, program};
use lesson04::{LESSON, STUDENT};

/// Counts what tensors take, for the memory measured.
#[global_allocator]
static ALLOCATOR: Counted<System> = Counted(System);

fn main() -> ExitCode {
    program("lesson04", run)
}

fn run() -> Result<()> {
    let options = Options::of("lesson04")?;
    let (answer, pieces) = LESSON.pieces(STUDENT, options.reference)?;
    options.say_pieces(&pieces);
    let devices = pieces::devices(&answer)?;
    options.say(&format!("\n'auto' is {}\n", devices.said));
    let began = Instant::now();
    let done = |what: &str| eprintln!("{what}: done after {:.0} s", began.elapsed().as_secs_f64());
    let speeds = speed::measure(&answer, &devices)?;
    done("speed");
    let rooms = room::measure(&answer)?;
    done("memory");
    let training = train::run(&answer, options.seed)?;
    let found = Found {
        seed: options.seed,
        device: devices.said.clone(),
        speeds,
        rooms,
        training,
        seconds: began.elapsed().as_secs_f64(),
    };
    options.finish(
        found.plots().into_iter().map(|(name, plot)| (name, plot.svg())),
        || format!("{:#}", found.json()),
        || found.tables(),
    )
}
