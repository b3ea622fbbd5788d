//! The experiment of lesson 06: short trainings of a small PointNet in formats of fewer bits, emulated on the CPU; the
//! sizes of the gradients; what the loss may be multiplied by; bytes, and tensor cores.
//!
//! `cargo run -p lesson06` prints tables and writes three plots to `runs/lesson06`. `-- --reference` takes canopy's
//! functions in the place of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

mod experiment;

use std::{process::ExitCode, time::Instant};

use anyhow::Result;
use canopy::precision::{BF16, FP16};
use experiment::{
    found::Found,
    layers,
    train::{self, BATCH, EPOCHS, POINTS},
    ways::{FEW, POWERS, WAYS, scaled},
};
use grader::experiment::{Options, program};
use lesson06::{LESSON, STUDENT};

fn main() -> ExitCode {
    program("lesson06", run)
}

fn run() -> Result<()> {
    let options = Options::of("lesson06")?;
    let (answer, pieces) = LESSON.pieces(STUDENT, options.reference)?;
    options.say_pieces(&pieces);
    let forest = train::forest(options.seed)?;
    options.say(&format!(
        "\nA quarter-wide PointNet learns {} trees of {POINTS} points in batches of {BATCH},\n\
         {EPOCHS} epochs each time. All but fp32 is emulated: fp32 arithmetic, rounded at each\n\
         operator's border. It shows accuracy, not speed.\n",
        forest.split.train.len()
    ));
    let began = Instant::now();
    let batches = train::drawn(&forest)?;
    let told = |what: &str| eprintln!("{what}: done after {:.0} s", began.elapsed().as_secs_f64());
    let mut ways = Vec::new();
    for way in &WAYS {
        ways.push(train::train(&forest, &answer, way, &batches)?);
        told(way.name);
    }
    let mut scales = Vec::new();
    for (format, powers) in [(FP16, &POWERS[..]), (BF16, &FEW)] {
        let one = |&p: &i32| Ok((p, train::train(&forest, &answer, &scaled(format, p), &batches)?));
        scales.push((format.name, powers.iter().map(one).collect::<Result<Vec<_>>>()?));
        told(&format!("{}, scales", format.name));
    }
    let found = Found {
        seed: options.seed,
        ways,
        scales,
        layers: layers::json(&answer),
        seconds: began.elapsed().as_secs_f64(),
    };
    let parameters = layers::parameters()?;
    options.finish(
        found.plots().into_iter().map(|(name, plot)| (name, plot.svg())),
        || format!("{:#}", found.json()),
        || {
            format!(
                "{}{}\n{}  in layers worth it: {:.1} % of the arithmetic\n\n{:.0} s in all.\n",
                found.tables(),
                layers::bytes_table(&answer, parameters),
                layers::cores_table(&answer),
                100.0 * layers::worth_share(&answer),
                found.seconds
            )
        },
    )
}
