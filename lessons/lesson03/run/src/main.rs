//! The experiment of lesson 03: how long the trainer waits for clouds in four formats, how much padding a batch has, and
//! how a split that leaks inflates the accuracy.
//!
//! `cargo run -p lesson03` prints tables. `-- --reference` uses canopy's functions instead of yours, `-- --seed N`
//! another seed, `-- --json` prints JSON.

#[macro_use]
extern crate lesson03;

mod experiment;

use std::process::ExitCode;

use anyhow::Result;
use canopy::train::{
    Config,
    short::{self, Forest},
};
use experiment::{files, leakage, padding, waiting};
use kit::experiment::Report;
use lesson03::{LESSON, Lesson03};

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson03, report: &mut Report) -> Result<()> {
    // Dropped, and so removed, on every way out of here.
    let home = tempfile::Builder::new().prefix("canopy-lesson03-").tempdir()?;
    let files = files::write(home.path(), report.seed())?;
    report.say("\nA batch is 4 clouds of 1,024 points. Columns: workers, batches prefetched.");
    let [rates, waits] = waiting::tables(&files, answer)?;
    report.table("training", "", &rates);
    report.table("waiting", "", &waits);
    let forest = Forest::open(Config {
        turn: false,
        ..short::small(leakage::POINTS, report.seed())
    })?;
    report.table("padding", "", &padding::table(&forest, answer)?);
    report.table("splits", "", &leakage::table(&forest, answer)?);
    Ok(())
}
