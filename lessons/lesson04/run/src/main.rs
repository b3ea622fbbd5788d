//! The experiment of lesson 04: the memory of a step as counted and as measured; a training run that is stopped and
//! resumed.
//!
//! `cargo run -p lesson04` prints tables. `-- --reference` uses canopy's functions instead of yours, `-- --seed N`
//! another seed, `-- --json` prints JSON.

#[macro_use]
extern crate lesson04;

mod experiment;

use std::{alloc::System, process::ExitCode};

use anyhow::Result;
use canopy::train::memory::Counted;
use experiment::{memory, train};
use kit::experiment::Report;
use lesson04::{LESSON, Lesson04};

/// Counts the bytes of tensors, for the memory measurement.
#[global_allocator]
static ALLOCATOR: Counted<System> = Counted(System);

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson04, report: &mut Report) -> Result<()> {
    let title = format!(
        "The largest batch that fits in a memory budget, MiB\n\
         (a quarter of the width, clouds of {} points)",
        memory::POINTS
    );
    report.table("memory", &title, &memory::table(answer)?);
    report.done("memory");
    train::report(answer, report)
}
