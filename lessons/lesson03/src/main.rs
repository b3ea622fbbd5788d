//! The experiment of lesson 03: how fast clouds come, how long the trainer waits for them, what thinning keeps, what padding
//! costs, and what a split that leaks makes of a score.
//!
//! `cargo run -p lesson03` prints tables and writes two plots to `runs/lesson03`. `-- --reference` takes canopy's
//! functions in the place of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

mod experiment;

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use canopy::train::short::{self, Forest};
use experiment::{files::Files, found::Found, leakage, padding, thinning, waiting};
use grader::experiment::{Options, program};
use lesson03::{LESSON, STUDENT};

fn main() -> ExitCode {
    program("lesson03", run)
}

fn run() -> Result<()> {
    let options = Options::of("lesson03")?;
    let (answer, pieces) = LESSON.pieces(STUDENT, options.reference)?;
    options.say_pieces(&pieces);
    let began = Instant::now();
    let done = |part: &str| eprintln!("{part}: done after {:.0} s", began.elapsed().as_secs_f64());
    // Dropped, and so removed, on every way out of here.
    let home = tempfile::Builder::new().prefix("canopy-lesson03-").tempdir()?;
    let files = Files::write(home.path(), options.seed)?;
    done("a tree in four formats");
    let rates = waiting::rates(&files, &answer)?;
    done("loading");
    let waits = waiting::waits(&files, &answer)?;
    done("training and waiting");
    let thinned = thinning::thinned(&files, &answer, options.seed)?;
    done("thinning");
    let forest = Forest::open(short::small(leakage::POINTS, options.seed))?;
    let padded = padding::padded(&forest, &answer)?;
    done("padding");
    let splits = leakage::splits(&forest, &answer)?;
    done("splits");
    let found = Found {
        seed: options.seed,
        points: files.points,
        sizes: files.sizes()?,
        rates,
        waits,
        thinned,
        padded,
        splits,
        seconds: began.elapsed().as_secs_f64(),
    };
    options.finish(
        found.plots().into_iter().map(|(name, plot)| (name, plot.svg())),
        || format!("{:#}", found.json()),
        || format!("\n{}", found.tables()),
    )
}
