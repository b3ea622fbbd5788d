//! The experiment of lesson 06: short trainings of a small PointNet in low-precision formats, emulated on the CPU; the
//! accuracy against the loss scale; and tensor cores.
//!
//! `cargo run -p lesson06` prints tables. `-- --reference` uses canopy's functions instead of yours, `-- --seed N`
//! another seed, `-- --seeds N` repeats the trainings in all formats, `-- --json` prints JSON.

#[macro_use]
extern crate lesson06;

mod census;
mod layers;
mod results;
mod train;
mod ways;

use std::process::ExitCode;

use anyhow::Result;
use kit::experiment::Report;
use lesson06::{LESSON, Lesson06};
use train::{BATCH, Drawn, EPOCHS, POINTS};
use ways::{POWERS, SCALED, WAYS};

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson06, report: &mut Report) -> Result<()> {
    let seeds = report.seeds().map(Drawn::new).collect::<Result<Vec<_>>>()?;
    report.say(format!(
        "\nA quarter-wide PointNet is trained on {} trees of {POINTS} points in batches of {BATCH},\n\
         {EPOCHS} epochs in each format. All but fp32 is emulated: fp32 arithmetic, rounded at\n\
         the inputs and outputs of each operator. It shows accuracy, not speed.",
        seeds[0].forest.split.train.len()
    ));
    let mut ways = Vec::new();
    for way in WAYS {
        let each = seeds.iter().map(|drawn| drawn.train(answer, way));
        ways.push(each.collect::<Result<Vec<_>>>()?);
        report.done(way.0);
    }
    report.table("formats", "", &results::formats(&ways));
    let mut scales = Vec::new();
    for (name, format, scaling) in SCALED {
        let each = POWERS.map(|power| seeds[0].train(answer, (name, Some(format), scaling(power), true)));
        scales.push(each.into_iter().collect::<Result<Vec<_>>>()?);
        report.done(&format!("{name}, loss scales"));
    }
    report.table("loss_scales", "", &results::loss_scales(&scales));
    report.table("layers", "", &layers::tensor_cores(answer));
    let worth = layers::worth_share(answer);
    report.say(format!(
        "in layers worth it: {:.1} % of the arithmetic",
        100.0 * worth
    ));
    report.json("worth_share", worth);
    Ok(())
}
