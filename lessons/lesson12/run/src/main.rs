//! The experiment of lesson 12: three heads and the squared error on four true distributions; sparse and dense Adam on a
//! table of sites.
//!
//! `cargo run -p lesson12` prints tables and writes a plot to `runs/lesson12`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --seed N` another seed, `-- --seeds N` repeats everything, `-- --out FOLDER` another folder,
//! `-- --json` prints JSON.

#[macro_use]
extern crate lesson12;

mod forests;
mod network;
mod sites;

use std::process::ExitCode;

use anyhow::Result;
use canopy::report::svg::{LinePlot, Series};
use canopy_data::Philox;
use forests::ForestKind;
use kit::{
    experiment::Report,
    table::{Table, Value, fixed, json, left, percent, scientific},
};
use lesson12::{LESSON, Lesson12};
use network::{EPOCHS, Head, Network, SCORED, TRAINED};
use rayon::prelude::*;

/// The x at which densities are drawn.
const SHOWN: f64 = 0.5;

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson12, report: &mut Report) -> Result<()> {
    let seeds: Vec<u64> = report.seeds().collect();
    report.say(format!(
        "\nA network with two hidden layers of 32 learns a target from one number, from\n\
         {TRAINED} trees in {EPOCHS} epochs, and forecasts {SCORED} others. The scores are means over\n\
         these; a lower NLL is better."
    ));
    let held_out = |forest: ForestKind, seed| forest.draw(SCORED, &mut Philox::new(seed, 3));
    let ways = Head::ALL.map(|head| ForestKind::ALL.map(|forest| (head, forest)));
    let scores = of_each_seed(ways.as_flattened(), &seeds, |&way, seed| {
        let (x, y) = held_out(way.1, seed);
        Network::train(answer, way, seed)?.score(&x, &y)
    })?;
    // The rows of a table of the scores `i`, one for each head.
    let rows = |level: &str, i: usize| {
        let row = |(head, ways): (Head, &[Vec<[f64; 3]>])| {
            let cells = ways.iter().map(|seeds| cell(seeds, |scores| scores[i]));
            let name = format!("{level}{}", head.name());
            [json!(name)].into_iter().chain(cells).collect::<Value>()
        };
        let ways = scores.chunks(ForestKind::ALL.len());
        Head::ALL.into_iter().zip(ways).map(row).collect::<Vec<_>>()
    };
    let columns = ForestKind::ALL.map(|forest| fixed(forest.name(), 3));
    let mut nll = Table::new([left("NLL, nats")].into_iter().chain(columns));
    // The mean NLL of the true distribution: no forecast can have less, apart from chance.
    let truth = ForestKind::ALL.map(|forest| {
        cell(&seeds, |&seed| {
            let (x, y) = held_out(forest, seed);
            let each = x.iter().zip(&y).map(|(&x, &y)| -forest.density(x, y).ln());
            each.sum::<f64>() / SCORED as f64
        })
    });
    let truth = [json!("the truth")].into_iter().chain(truth).collect();
    for row in rows("", 0).into_iter().chain([truth]) {
        nll.row(row);
    }
    report.table("nll", "", &nll);
    let columns = ForestKind::ALL.map(|forest| percent(forest.name(), 1));
    let mut inside = Table::new([left("inside")].into_iter().chain(columns));
    for row in rows("50 %, ", 1).into_iter().chain(rows("90 %, ", 2)) {
        inside.row(row);
    }
    report.table("coverage", "", &inside);
    let ways = [0.003, 0.01, 0.03, 0.1].map(|rate| [(false, rate), (true, rate)]);
    let ways = ways.as_flattened();
    let learned = of_each_seed(ways, &seeds, |&way, seed| sites::train(answer, way, seed))?;
    let mut adam = Table::new([
        left("Adam"),
        scientific("rate"),
        fixed("error, rare", 3),
        fixed("error, common", 3),
        percent("unseen", 1),
        fixed("rows a step", 0),
    ]);
    for (&(sparse, rate), seeds) in ways.iter().zip(&learned) {
        let name = if sparse { "sparse" } else { "dense" };
        let [rare, common, unseen, rows] = [0, 1, 2, 3].map(|i| cell(seeds, |results| results[i]));
        adam.row(json!([name, rate, rare, common, unseen, rows]));
    }
    report.table("sites", "", &adam);
    report.file("12-two-peaks.svg", two_peaks(answer, seeds[0])?.svg())?;
    Ok(())
}

/// A value of each seed.
fn cell<T>(seeds: &[T], value: impl Fn(&T) -> f64) -> Value {
    seeds.iter().map(value).collect()
}

/// For each way, the results of `job` with each seed. The jobs run in parallel, with a bar on a terminal.
fn of_each_seed<W: Sync, T: Send>(
    ways: &[W],
    seeds: &[u64],
    job: impl Fn(&W, u64) -> Result<T> + Sync,
) -> Result<Vec<Vec<T>>> {
    let bar = canopy::train::bar((ways.len() * seeds.len()) as u64, "trainings");
    let one = |way: &W, seed: u64| job(way, seed).inspect(|_| bar.inc(1));
    let of_way = |way: &W| seeds.par_iter().map(|&seed| one(way, seed)).collect();
    let all = ways.par_iter().map(of_way).collect();
    bar.finish_and_clear();
    all
}

/// The densities of all heads for one x.
fn two_peaks(answer: &Lesson12, seed: u64) -> Result<LinePlot> {
    let forest = ForestKind::TwoPeaks;
    let mut plot = LinePlot::new("Forecasts, two peaks", "target, m", "density, per m");
    let targets = || (0..280).map(|i| 5.0 + 0.1 * f64::from(i));
    for head in Head::ALL {
        let network = Network::train(answer, (head, forest), seed)?;
        let points = targets().map(|y| Ok((y, network.density(SHOWN, y)?)));
        plot = plot.with(Series::new(head.name(), points.collect::<Result<_>>()?));
    }
    let truth = targets().map(|y| (y, forest.density(SHOWN, y)));
    plot = plot.with(Series::new("the truth", truth.collect()).dashed());
    Ok(plot.for_the_book())
}
