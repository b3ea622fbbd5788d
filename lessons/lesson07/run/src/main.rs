//! The experiment of lesson 07: short trainings of a small PointNet against batch size, with and without the remedies; the
//! loss around the weights where each ended; a range test; accumulation.
//!
//! `cargo run -p lesson07` prints tables and writes four plots to `runs/lesson07`. `-- --reference` uses canopy's
//! functions instead of yours, `-- --seed N` another seed, `-- --seeds N` repeats the trainings, `-- --out FOLDER` another folder, `-- --json` prints JSON.

#[macro_use]
extern crate lesson07;

mod experiment;

use std::process::ExitCode;

use anyhow::Result;
use experiment::{
    accumulate::{self, LARGE, MICRO},
    results::{self, Row},
    schedules,
    train::{Cure, EPOCHS, POINTS, Trees},
};
use grader::{
    experiment::{Report, json},
    number,
};
use lesson07::{LESSON, Lesson07};

/// The batch sizes that are tried.
pub const BATCHES: [usize; 4] = [16, 64, 256, 512];

fn main() -> ExitCode {
    grader::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson07, report: &mut Report) -> Result<()> {
    let forests = report.seeds().map(Trees::open).collect::<Result<Vec<_>>>()?;
    let trees = &forests[0];
    report.say(format!(
        "\nA quarter-wide PointNet is trained on {} trees of {POINTS} points, {EPOCHS} epochs each time.",
        trees.0.split.train.len()
    ));
    let mut rows = Vec::new();
    for cure in Cure::ALL {
        for batch in BATCHES {
            let one = |trees: &Trees| trees.train(answer, cure, batch);
            let seeds = forests.iter().map(one).collect::<Result<Vec<_>>>()?;
            rows.push(Row { cure, batch, seeds });
        }
        report.done(cure.name());
    }
    report.table("accuracy", "", &results::accuracy(&rows));
    report.table("loss", "", &results::loss(&rows));
    report.table("sharpness", "", &results::sharpnesses(&rows));
    report.json("trainings", results::json(&rows));
    let range = trees.range(answer)?;
    let least = range.losses.iter().copied().fold(f64::INFINITY, f64::min);
    report.say(format!(
        "\nRange test of SGD in batches of 32:\n{} rates, the last {}{};\n\
         least smoothed loss {least:.3}; suggestion {}.",
        range.rates.len(),
        range.rates.last().map_or("–".into(), |r| number(*r)),
        if range.broke {
            "; it diverged at the next"
        } else {
            ""
        },
        range.suggestion.map_or("none".into(), |r| format!("{r:.4}")),
    ));
    report.json("range_test", json!({ "rates": range.rates, "losses": range.losses, "suggestion": range.suggestion, "broke": range.broke }));
    let (plain, normed) = accumulate::differences(&trees.0, answer)?;
    report.say(format!(
        "\nGradient of {LARGE} clouds against that of micro-batches of {MICRO}, relative difference:\n\
         without batch norm {plain:.1e}, with batch norm {normed:.2}."
    ));
    report.json(
        "accumulation",
        json!({ "without_batch_norm": plain, "with_batch_norm": normed }),
    );
    report.file("07-accuracy.svg", results::accuracy_plot(&rows).svg());
    report.file("07-range.svg", results::range_plot(&range).svg());
    report.file("07-sharpness.svg", results::sharpness_plot(&rows).svg());
    report.file("07-schedules.svg", schedules::plot(answer).svg());
    Ok(())
}
