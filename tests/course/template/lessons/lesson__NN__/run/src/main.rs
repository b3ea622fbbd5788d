//! The experiment of lesson __NN__: your functions at work.
//!
//! `cargo run -p lesson__NN__` prints a table. `-- --reference` uses canopy's functions instead of yours, `-- --json` prints
//! JSON.

#[macro_use]
extern crate lesson__NN__;

use std::process::ExitCode;

use anyhow::Result;
use kit::{
    experiment::Report,
    table::{Table, count, json},
};
use lesson__NN__::{LESSON, Lesson__NN__};

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson__NN__, report: &mut Report) -> Result<()> {
    let mut table = Table::new([count("batch size"), count("steps of 691 records")]);
    for batch in [1, 4, 16, 64] {
        table.row(json!([batch, (answer.iterations)(691, batch, false)]));
    }
    report.table("steps", "", &table);
    Ok(())
}
