//! The experiment of lesson 06: short trainings of a small PointNet in low-precision formats, emulated on the CPU; the
//! magnitudes of the gradients; the accuracy against the loss scale; bytes, and tensor cores.
//!
//! `cargo run -p lesson06` prints tables and writes three plots to `runs/lesson06`. `-- --reference` uses canopy's
//! functions instead of yours, `-- --seed N` another seed, `-- --seeds N` repeats the trainings in all formats, `-- --out FOLDER` another folder, `-- --json` prints JSON.

#[macro_use]
extern crate lesson06;

mod experiment;

use std::process::ExitCode;

use anyhow::Result;
use canopy::precision::{BF16, FP16};
use experiment::{
    layers, results,
    train::{self, BATCH, EPOCHS, POINTS},
    ways::{FEW, POWERS, WAYS, scaled},
};
use grader::experiment::Report;
use lesson06::{LESSON, Lesson06};

fn main() -> ExitCode {
    grader::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson06, report: &mut Report) -> Result<()> {
    let seeds = report.seeds();
    let forests = seeds.map(train::forest).collect::<Result<Vec<_>>>()?;
    let forest = &forests[0];
    report.say(format!(
        "\nA quarter-wide PointNet is trained on {} trees of {POINTS} points in batches of {BATCH},\n\
         {EPOCHS} epochs in each format. All but fp32 is emulated: fp32 arithmetic, rounded at\n\
         the inputs and outputs of each operator. It shows accuracy, not speed.",
        forest.split.train.len()
    ));
    let batches = forests.iter().map(train::drawn).collect::<Result<Vec<_>>>()?;
    let mut ways = Vec::new();
    for way in &WAYS {
        let one = |i: usize| train::train(&forests[i], answer, way, &batches[i]);
        ways.push((0..forests.len()).map(one).collect::<Result<Vec<_>>>()?);
        report.done(way.name);
    }
    report.table("formats", "", &results::formats(&ways));
    let mut scales = Vec::new();
    for (name, format, powers, dynamic) in [
        ("fp16", FP16, &POWERS[..], false),
        ("dynamic", FP16, &POWERS, true),
        ("bf16", BF16, &FEW, false),
    ] {
        let one = |&p: &i32| {
            let way = scaled(format, p, dynamic);
            Ok((p, train::train(forest, answer, &way, &batches[0])?))
        };
        scales.push((name, powers.iter().map(one).collect::<Result<Vec<_>>>()?));
        report.done(&format!("{name}, loss scales"));
    }
    report.table("loss_scales", "", &results::loss_scales(&scales));
    report.json("loss_scale_trainings", results::loss_scales_json(&scales));
    report.table("bytes", "", &layers::bytes(answer)?);
    report.table("layers", "", &layers::tensor_cores(answer));
    let worth = layers::worth_share(answer);
    report.say(format!(
        "in layers worth it: {:.1} % of the arithmetic",
        100.0 * worth
    ));
    report.json("worth_share", worth);
    report.file("06-gradients.svg", results::gradients(&ways).svg());
    report.file("06-losses.svg", results::losses(&ways).svg());
    report.file("06-scales.svg", results::accuracies(&scales).svg());
    Ok(())
}
