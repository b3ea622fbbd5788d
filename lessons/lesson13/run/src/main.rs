//! The experiment of lesson 13: your functions at work.
//!
//! `cargo run -p lesson13` prints a table. `-- --reference` uses canopy's functions instead of yours, `-- --json` prints
//! JSON.

#[macro_use]
extern crate lesson13;

use std::process::ExitCode;

use anyhow::Result;
use kit::{
    experiment::Report,
    table::{Table, count, json},
};
use lesson13::{LESSON, Lesson13};

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson13, report: &mut Report) -> Result<()> {
    let mut table = Table::new([count("epochs"), count("trials")]);
    for rung in (answer.rungs)(27, 1, 27, 3) {
        table.row(json!([rung.epochs, rung.trials]));
    }
    report.table("rungs", "", &table);
    Ok(())
}
