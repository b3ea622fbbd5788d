//! The experiment of lesson 09: the same training on 1, 2 and 4 ranks, which are threads of this machine, as data
//! parallelism, at each stage of ZeRO, and by the engine; what each rank keeps and sends, counted and predicted.
//!
//! `cargo run -p lesson09` prints tables and writes two plots to `runs/lesson09`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --seed N` another seed, `-- --out FOLDER` another folder, `-- --json` prints JSON.

#[macro_use]
extern crate lesson09;

mod experiment;

use std::process::ExitCode;

use anyhow::Result;
use experiment::{
    network::{HIDDEN, Network},
    results::{self, Row},
    train::{BATCH, STEPS, WAYS, train},
    trees::{FEATURES, Trees},
};
use grader::experiment::Report;
use lesson09::{LESSON, Lesson09};

fn main() -> ExitCode {
    grader::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson09, report: &mut Report) -> Result<()> {
    let trees = Trees::open(report.seed())?;
    let network = Network::new(trees.species);
    let sizes = network.sizes();
    let parameters = sizes.iter().sum::<usize>();
    report.say(format!(
        "\nA network with two hidden layers of {HIDDEN} and {parameters} parameters learns the species\n\
         from {FEATURES} numbers of a tree: {} trees, {STEPS} steps of batch {BATCH}, Adam in f32.",
        trees.labels.len()
    ));
    report.json("parameters", parameters);
    report.table(
        "slices",
        "Four ranks share the weights W and biases b of layers 0 to 2",
        &results::slices(answer, &sizes),
    );
    let mut rows = Vec::new();
    for ranks in [1, 2, 4] {
        for way in WAYS {
            let found = train(answer, way, ranks, (&network, &trees), report.seed())?;
            rows.push(Row { way, ranks, found });
        }
    }
    report.table(
        "losses",
        "Losses, and how far they are from the first row",
        &results::losses(&rows),
    );
    let title = "What a rank keeps and sends";
    report.table(
        "memory",
        title,
        &results::memory(answer, &rows, parameters as u64),
    );
    let title = "7.5 billion parameters on 64 ranks, in mixed precision with Adam";
    report.table("large", title, &results::large(answer));
    report.file(
        "09-memory.svg",
        results::memory_plot(answer, &rows, parameters as u64).svg(),
    );
    report.file("09-losses.svg", results::loss_plot(&rows).svg());
    Ok(())
}
