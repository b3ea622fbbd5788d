//! The experiment of lesson 09: the same training on one rank, and on four, which are threads of this machine, as data
//! parallelism, at each stage of ZeRO, and by the engine; what each rank keeps and sends, counted and predicted.
//!
//! `cargo run -p lesson09` prints a table. `-- --reference` uses canopy's functions instead of yours, `-- --seed N` another
//! seed, `-- --json` prints JSON.

#[macro_use]
extern crate lesson09;

mod experiment;

use std::process::ExitCode;

use anyhow::Result;
use canopy::{
    precision::{FP32, bytes_per_parameter},
    shard::Stage,
};
use experiment::{
    network::{HIDDEN, Network, POINTS, Trees},
    train::{BATCH, Results, STEPS, Way, train},
};
use kit::{
    experiment::Report,
    table::{Table, count, fixed, json, left},
};
use lesson09::{LESSON, Lesson09};

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson09, report: &mut Report) -> Result<()> {
    let trees = Trees::open(report.seed())?;
    let (count, species) = trees.labels.dims2()?;
    let network = Network::new(species);
    let parameters = network.range(2).end;
    report.say(format!(
        "\nA network with two hidden layers of {HIDDEN} and {parameters} parameters learns the species from {POINTS} points of a tree: \
         {count} trees, {STEPS} steps of batch {BATCH}, Adam in f32."
    ));
    let stages = Stage::ALL.map(|stage| (4, Some(stage)));
    let all = [&[(1, Some(Stage::Zero0))], &stages[..], &[(4, None)]].concat();
    let mut trainings = Vec::new();
    for (ranks, way) in all {
        let results = train(answer, way, ranks, (&network, &trees), report.seed())?;
        trainings.push((ranks as u64, way, results));
        report.done(&format!("training {}", trainings.len()));
    }
    let losses = || trainings.iter().map(|(_, _, results)| &results.losses);
    let one = &trainings[0].2.losses;
    let off = losses().flat_map(|all| all.iter().zip(one).map(|(a, b)| (a - b).abs()));
    report.say(format!(
        "The loss falls from {:.4} to {:.4}. In any step of any way, it is at most {:.1e} from the loss of one rank.",
        one[0],
        one[STEPS - 1],
        off.fold(0.0, f64::max)
    ));
    let memory = memory(answer, &trainings, parameters as u64);
    report.table("memory", "What a rank keeps and sends", &memory);
    Ok(())
}

/// What a rank keeps and sends, of each training and its number of ranks.
fn memory(answer: &Lesson09, trainings: &[(u64, Way, Results)], parameters: u64) -> Table {
    let mut table = Table::new([
        count("ranks"),
        left(""),
        fixed("kept", 1).unit("KiB"),
        fixed("predicted", 1).unit("KiB"),
        fixed("briefly", 1).unit("KiB"),
        count("sent a step"),
        count("predicted sent"),
    ]);
    let kib = |numbers: usize| 4.0 * numbers as f64 / 1024.0;
    for (ranks, way, results) in trainings {
        // The engine accumulates whole gradients, as stage 1 keeps them.
        let (name, stage) = match way {
            Some(stage) => (stage.to_string(), *stage),
            None => ("engine".into(), Stage::Zero1),
        };
        let predicted = (answer.bytes_per_rank)(parameters, bytes_per_parameter(FP32, 2), stage, *ranks);
        table.row(json!([
            *ranks,
            name,
            kib(results.kept),
            predicted.iter().sum::<u64>() as f64 / 1024.0,
            kib(results.briefly),
            results.sent / STEPS as u64,
            (answer.numbers_sent)(parameters, stage, *ranks)
        ]));
    }
    table
}
