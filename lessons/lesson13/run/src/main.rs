//! The experiment of lesson 13: one budget spent by grid, random search, population-based training, successive halving and
//! ASHA; which hyper-parameters matter; how reliable the first rung is; how much too good the best of many trials looks.
//!
//! `cargo run -p lesson13` prints tables and writes two plots to `runs/lesson13`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --seed N` another seed, `-- --seeds N` repeats everything, `-- --out FOLDER` another folder,
//! `-- --json` prints JSON.

#[macro_use]
extern crate lesson13;

mod searches;
mod trials;

use std::process::ExitCode;

use anyhow::Result;
use canopy::{
    report::svg::{LinePlot, Series},
    search::{Rung, Value},
    train::short::Forest,
};
use canopy_data::Philox;
use kit::{
    experiment::Report,
    table::{self, Table, count, fixed, json, left, percent},
};
use lesson13::{LESSON, Lesson13};
use rayon::prelude::*;
use searches::{BUDGET, Search, WORKERS, rung_by_rung};
use trials::{EPOCHS, POINTS, Trial, Values, forest, grid, share, space};

/// Random trials that are drawn and trained.
const DRAWN: usize = 64;
/// Three of the searches.
const HALVING: &str = "successive halving";
const GOAL: &str = "random, 3 ×";
const ALL: &str = "random, all";
/// Bootstrap samples of a corrected estimate.
const SAMPLES: usize = 200;

fn main() -> ExitCode {
    kit::experiment::run(&LESSON, student!(), experiment)
}

/// What was trained with one seed, and the searches by name.
struct Seed {
    forest: Forest,
    random: Vec<Trial>,
    searches: Vec<(&'static str, Search)>,
}

impl Seed {
    fn run(answer: &Lesson13, seed: u64) -> Result<Self> {
        let (forest, halving) = (forest(seed)?, searches::halving(answer));
        let whole = |values: Values| {
            let mut trial = Trial::new(&forest, values)?;
            for rung in &halving {
                trial.train(&forest, rung.epochs)?;
            }
            Ok(trial)
        };
        let train = |all: Vec<Values>| all.into_par_iter().map(whole).collect::<Result<Vec<_>>>();
        let drawn = (0..DRAWN as u64).map(|trial| (answer.draw)(&space(), seed, trial));
        let (random, grid) = (train(drawn.collect())?, train(grid())?);
        let (epochs, all) = (EPOCHS, DRAWN);
        let to_the_end = |of: &[Trial]| rung_by_rung(of, &[Rung { epochs, trials: all }]);
        let within = |budget: u64| to_the_end(&random[..(budget / EPOCHS) as usize]);
        let searches = vec![
            ("grid", to_the_end(&grid)),
            ("random", within(BUDGET)),
            ("population", searches::population(answer, &forest, seed)?),
            (HALVING, rung_by_rung(&random, &halving)),
            ("ASHA", searches::asha(answer, &random)),
            (GOAL, within(3 * BUDGET)),
            (ALL, to_the_end(&random)),
        ];
        Ok(Self {
            forest,
            random,
            searches,
        })
    }

    fn search(&self, name: &str) -> &Search {
        let found = self.searches.iter().find(|(of, _)| *of == name);
        &found.unwrap_or(&self.searches[0]).1
    }
}

fn experiment(answer: &Lesson13, report: &mut Report) -> Result<()> {
    let mut seeds = Vec::new();
    for seed in report.seeds() {
        seeds.push(Seed::run(answer, seed)?);
        report.done(&format!("seed {seed}"));
    }
    report.say(format!(
        "\nA quarter-wide PointNet is trained on clouds of {POINTS} points, {EPOCHS} epochs for a whole trial. \
         The time is in epochs, with {WORKERS} workers."
    ));
    report.table("searches", "", &of_searches(&seeds));
    report.table("quarters", "", &of_quarters(&seeds));
    report.table("orders", "", &of_orders(&seeds));
    report.table("bias", "", &of_bias(answer, &seeds)?);
    report.file("13-halving.svg", curves(&seeds[0]).svg())?;
    report.file("13-budget.svg", best_so_far(&seeds[0]).svg())
}

/// The searches, and the epochs after which each is as good as random search with three times the budget, for each seed.
fn of_searches(seeds: &[Seed]) -> Table {
    let counts = ["trials", "epochs", "time"].map(count);
    let others = [percent("best accuracy", 1), left("as good after")];
    let mut table = Table::new([left("search")].into_iter().chain(counts).chain(others));
    for (i, (name, _)) in seeds[0].searches.iter().enumerate() {
        let each = || seeds.iter().map(|seed| &seed.searches[i].1);
        let trials: table::Value = each().map(|search| search.epochs.len()).collect();
        let epochs: table::Value = each().map(Search::spent).collect();
        let time: table::Value = each().map(|search| search.time).collect();
        let best: table::Value = each().map(Search::best).collect();
        let goals = seeds.iter().map(|seed| seed.search(GOAL).best());
        let reached = each().zip(goals).map(|(search, goal)| search.epochs_to(goal));
        let reached = reached.map(|after| after.map_or("–".into(), |epochs| epochs.to_string()));
        let reached = reached.collect::<Vec<_>>().join(", ");
        table.row(json!([name, trials, epochs, time, best, reached]));
    }
    table
}

/// The mean accuracy of the random trials in each quarter of a hyper-parameter's values. A diverged trial counts as 0.
fn of_quarters(seeds: &[Seed]) -> Table {
    let columns = ["lowest quarter", "second", "third", "highest"].map(|quarter| percent(quarter, 1));
    let mut table = Table::new([left("mean accuracy")].into_iter().chain(columns));
    for name in ["learning-rate", "weight-decay", "momentum"] {
        let pair = |trial: &Trial| match trial.values.iter().find(|(of, _)| of == name) {
            Some((_, Value::Number(value))) => Some((*value, trial.score(EPOCHS).max(0.0))),
            _ => None,
        };
        let of_seed = |seed: &Seed| {
            let mut pairs: Vec<(f64, f64)> = seed.random.iter().filter_map(pair).collect();
            pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
            let quarters = pairs.chunks(pairs.len().div_ceil(4));
            let mean = |of: &[(f64, f64)]| of.iter().map(|pair| pair.1).sum::<f64>() / of.len() as f64;
            quarters.map(mean).collect::<Vec<_>>()
        };
        table.row(row(name, &seeds.iter().map(of_seed).collect::<Vec<_>>()));
    }
    table
}

/// After each rung: how well the order of the random trials agrees with that at the end, the place of the trial that wins, and
/// how many are close to the best.
fn of_orders(seeds: &[Seed]) -> Table {
    let counts = ["place of the winner", "within 3 points"].map(count);
    let columns = [count("epochs"), fixed("correlation with the end", 2)];
    let mut table = Table::new(columns.into_iter().chain(counts));
    for &(epochs, _) in &seeds[0].random[0].scores {
        let (mut correlations, mut places, mut near) = (Vec::new(), Vec::new(), Vec::new());
        for seed in seeds {
            let scores = |epochs| seed.random.iter().map(move |trial| trial.score(epochs).max(0.0));
            let (now, end): (Vec<f64>, Vec<f64>) = scores(epochs).zip(scores(EPOCHS)).unzip();
            let (now_best, end_best) = (now.iter().copied().fold(0.0, f64::max), seed.search(ALL).best());
            let winner = end.iter().position(|&score| score == end_best).unwrap_or(0);
            correlations.push(correlation(&ranks(&now), &ranks(&end)));
            places.push(ranks(&now)[winner].floor());
            near.push(now.iter().filter(|&score| now_best - score < 0.03).count());
        }
        table.row(json!([epochs, correlations, places, near]));
    }
    table
}

/// The rank of each score, from 1 for the highest; equal scores share the mean of their ranks.
fn ranks(scores: &[f64]) -> Vec<f64> {
    let rank = |score: &f64| {
        let higher = scores.iter().filter(|other| *other > score).count();
        let equal = scores.iter().filter(|other| *other == score).count();
        higher as f64 + (equal as f64 + 1.0) / 2.0
    };
    scores.iter().map(rank).collect()
}

/// Pearson's correlation; of ranks, it is Spearman's.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let centred = |of: &[f64]| -> Vec<f64> {
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        of.iter().map(|x| x - mean).collect()
    };
    let product = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let (a, b) = (centred(a), centred(b));
    product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
}

/// Apparent, corrected and test accuracy of the best of n trials: the mean over all groups of n.
fn of_bias(answer: &Lesson13, seeds: &[Seed]) -> Result<Table> {
    let columns = ["apparent", "corrected", "test"].map(|name| percent(name, 1));
    let mut table = Table::new([left("best of")].into_iter().chain(columns));
    for n in [1, 4, 16, DRAWN] {
        let of_seed = |seed: &Seed| {
            let (mut means, mut samples) = (vec![0.0; 3], Philox::new(n as u64, 0));
            for group in seed.random.chunks(n) {
                let correct: Vec<Vec<bool>> = group.iter().map(|trial| trial.correct.clone()).collect();
                let found = (answer.corrected_estimate)(&correct, SAMPLES, &mut samples);
                let test = group[found.best].classifies(&seed.forest, &seed.forest.split.test)?;
                let scores = [found.apparent, found.corrected, share(&test)];
                for (mean, score) in means.iter_mut().zip(scores) {
                    *mean += score * group.len() as f64 / DRAWN as f64;
                }
            }
            Ok(means)
        };
        let means = seeds.iter().map(of_seed).collect::<Result<Vec<_>>>()?;
        table.row(row(&n.to_string(), &means));
    }
    Ok(table)
}

/// A name, and then a cell for each column, with the number of each seed.
fn row(name: &str, seeds: &[Vec<f64>]) -> table::Value {
    let column = |i: usize| seeds.iter().map(|numbers| numbers[i]).collect();
    let columns = (0..seeds[0].len()).map(column);
    [json!(name)].into_iter().chain(columns).collect()
}

/// The learning curves that successive halving sees, in grey unless they are in the last rung.
fn curves(seed: &Seed) -> LinePlot {
    let mut plot = LinePlot::new("Successive halving", "epoch", "validation accuracy");
    for (i, &epochs) in seed.search(HALVING).epochs.iter().enumerate() {
        let seen = seed.random[i].scores.iter().filter(|(at, _)| *at <= epochs);
        let points = seen.map(|&(epochs, score)| (epochs as f64, score)).collect();
        plot = plot.with(match epochs == EPOCHS {
            true => Series::new(format!("trial {i}"), points),
            false => Series::new("", points).contour(),
        });
    }
    (plot.percent, plot.log_x) = (true, true);
    plot.ticks_at([2.0, 4.0, 8.0, 16.0]).for_the_book()
}

/// The best accuracy so far against the epochs spent.
fn best_so_far(seed: &Seed) -> LinePlot {
    let mut plot = LinePlot::new("The best trial so far", "epochs spent", "validation accuracy");
    for (name, search) in &seed.searches {
        let points = search.found.iter().map(|&(spent, best)| (spent as f64, best));
        // The shorter random searches are the beginning of the longest.
        if *name != "random" && *name != GOAL {
            plot = plot.with(Series::new(*name, points.collect()));
        }
    }
    (plot.percent, plot.log_x) = (true, true);
    plot.for_the_book()
}
