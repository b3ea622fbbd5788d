//! The experiment of lesson 03: how fast clouds are loaded, how long the trainer waits for them, what sub-sampling keeps, what
//! padding costs, and how a split that leaks inflates the accuracy.
//!
//! `cargo run -p lesson03` prints tables and writes two plots to `runs/lesson03`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

#[macro_use]
extern crate lesson03;

mod experiment;

use std::process::ExitCode;

use anyhow::Result;
use canopy::train::short::{self, Forest};
use experiment::{files::Files, leakage, padding, subsampling, waiting};
use grader::experiment::Report;
use lesson03::{LESSON, Lesson03};

fn main() -> ExitCode {
    grader::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson03, report: &mut Report) -> Result<()> {
    // Dropped, and so removed, on every way out of here.
    let home = tempfile::Builder::new().prefix("canopy-lesson03-").tempdir()?;
    let files = Files::write(home.path(), report.seed())?;
    files.report(report)?;
    report.done("a tree in four formats");
    let rates = waiting::rates(&files, answer)?;
    report.table(
        "loading",
        "",
        &waiting::rate_table("clouds/s, loading alone", &rates),
    );
    report.done("loading");
    let waits = waiting::waits(&files, answer)?;
    report.table("training", "", &waiting::rate_table("clouds/s, training", &waits));
    report.table("waiting", "", &waiting::wait_table("the trainer waits", &waits));
    report.done("training and waiting");
    let table = subsampling::table(&files, answer, report.seed())?;
    report.table("subsampling", "", &table);
    if !report.reference() {
        report.say(
            "Farthest points by a pass over all points for each take 10 times as long as by the k-d tree, and more: that \
             is no fault. The chapter's numbers are canopy's.",
        );
    }
    let forest = Forest::open(short::small(leakage::POINTS, report.seed()))?;
    padding::report(report, &forest, answer)?;
    report.table("splits", "", &leakage::table(&forest, answer)?);
    for (name, plot) in waiting::plots(&rates, &waits) {
        report.file(name, plot.svg());
    }
    Ok(())
}
