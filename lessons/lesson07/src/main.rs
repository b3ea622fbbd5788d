//! The experiment of lesson 07: short trainings of a small PointNet against batch size, with and without the cures; the
//! loss around where each ended; a range test; accumulation.
//!
//! `cargo run -p lesson07` prints tables and writes three plots to `runs/lesson07`. `-- --reference` takes canopy's
//! functions in the place of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

mod experiment;

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use experiment::{
    accumulate,
    found::{Found, Row},
    train::{Cure, EPOCHS, POINTS, Trees},
};
use grader::experiment::{Options, program};
use lesson07::{LESSON, STUDENT};

/// The batch sizes that are tried.
const BATCHES: [usize; 4] = [16, 64, 256, 512];

fn main() -> ExitCode {
    program("lesson07", run)
}

fn run() -> Result<()> {
    let options = Options::of("lesson07")?;
    let (answer, pieces) = LESSON.pieces(STUDENT, options.reference)?;
    options.say_pieces(&pieces);
    let trees = Trees::open(options.seed)?;
    options.say(&format!(
        "\nA quarter-wide PointNet learns {} trees of {POINTS} points, {EPOCHS} epochs each time.\n",
        trees.0.split.train.len()
    ));
    let began = Instant::now();
    let mut rows = Vec::new();
    for cure in Cure::ALL {
        for batch in BATCHES {
            let trained = trees.train(&answer, cure, batch)?;
            let whole = trained.loss.is_finite();
            rows.push(Row {
                cure,
                batch,
                steps: trained.steps,
                loss: trained.loss,
                accuracy: trained.accuracy,
                around: if whole {
                    trees.around(&answer, &trained.model)?
                } else {
                    Vec::new()
                },
            });
        }
        eprintln!(
            "{}: done after {:.0} s",
            cure.name(),
            began.elapsed().as_secs_f64()
        );
    }
    let found = Found {
        seed: options.seed,
        batches: BATCHES.to_vec(),
        rows,
        range: trees.range(&answer)?,
        apart: accumulate::apart(&trees.0, &answer)?,
        seconds: began.elapsed().as_secs_f64(),
    };
    options.finish(
        found.plots().into_iter().map(|(name, plot)| (name, plot.svg())),
        || format!("{:#}", found.json()),
        || found.tables(),
    )
}
