//! The experiment of lesson 12: three heads and the squared error on four true distributions; the number of bins; sparse
//! and dense Adam on a table of sites.
//!
//! `cargo run -p lesson12` prints tables and writes plots to `runs/lesson12`. `-- --reference` uses canopy's functions
//! instead of yours, `-- --seed N` another seed, `-- --seeds N` repeats everything, `-- --out FOLDER` another folder,
//! `-- --json` prints JSON.

#[macro_use]
extern crate lesson12;

mod experiment;

use std::{
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Result, anyhow};
use canopy_data::Philox;
use experiment::{
    forests::{ForestKind, truth},
    heads::Head,
    results::{self, Row},
    sites::{self, Update},
    train::{EPOCHS, Network, SCORED, TRAINED, held_out},
};
use grader::experiment::Report;
use lesson12::{LESSON, Lesson12};

/// The x at which densities are drawn.
const SHOWN: f64 = 0.5;
/// Learning rates of the table of sites.
const RATES: [f64; 4] = [0.003, 0.01, 0.03, 0.1];

fn main() -> ExitCode {
    grader::experiment::run(&LESSON, student!(), experiment)
}

fn experiment(answer: &Lesson12, report: &mut Report) -> Result<()> {
    let seeds: Vec<u64> = report.seeds().collect();
    report.say(format!(
        "\nA network with two hidden layers of 32 learns a target from one number, from\n\
         {TRAINED} trees in {EPOCHS} epochs, and forecasts {SCORED} others. Scores are means over\n\
         these; less is better."
    ));
    let rows = trained(answer, &seeds, &ForestKind::ALL, &Head::ALL)?;
    report.done("four distributions, four heads");
    let best = ForestKind::ALL.map(|forest| {
        let one = |&seed: &u64| truth(forest, &held_out(forest, seed), &mut Philox::new(seed, 4));
        seeds.iter().map(one).collect::<Vec<_>>()
    });
    let of = |i: usize| Some(best.clone().map(|all| all.iter().map(|two| two[i]).collect()));
    report.table("nll", "", &results::scores("NLL, nats", &rows, |s| s.nll, of(0)));
    report.table("crps", "", &results::scores("CRPS", &rows, |s| s.crps, of(1)));
    report.table("coverage", "", &results::coverage(&rows));
    let two = [ForestKind::TwoPeaks, ForestKind::Skewed];
    let bins = [3, 5, 10, 20, 50, 200].map(Head::Bins);
    let by_bins = trained(answer, &seeds, &two, &bins)?;
    report.done("numbers of bins");
    report.table("bins", "", &results::bins(&by_bins));
    let updates = [Update::Dense, Update::Sparse];
    let ways: Vec<(Update, f64)> = RATES.iter().flat_map(|&r| updates.map(|u| (u, r))).collect();
    let learned = in_threads(ways.len() * seeds.len(), |i| {
        let (update, rate) = ways[i / seeds.len()];
        sites::train(answer, update, rate, seeds[i % seeds.len()])
    })?;
    let mut learned = learned.into_iter();
    let of_sites: Vec<_> = ways
        .iter()
        .map(|&(update, rate)| {
            (
                update,
                rate,
                learned.by_ref().take(seeds.len()).collect::<Vec<_>>(),
            )
        })
        .collect();
    report.done("sites");
    report.table("sites", "", &results::sites(&of_sites));
    for forest in [ForestKind::TwoPeaks, ForestKind::Skewed] {
        let network = |head: &Head| Ok((head.clone(), Network::train(answer, forest, head, seeds[0])?));
        let networks = Head::ALL.iter().map(network).collect::<Result<Vec<_>>>()?;
        let name = forest.name().replace(' ', "-");
        report.file(
            format!("12-{name}.svg"),
            results::density_plot(forest, &networks, SHOWN)?.svg(),
        );
    }
    report.file(
        "12-calibration.svg",
        results::calibration_plot(&rows, ForestKind::Skewed).svg(),
    );
    let traced: Vec<_> = of_sites
        .iter()
        .filter(|way| way.1 == RATES[1])
        .map(|way| (way.0, &way.2[0]))
        .collect();
    report.file("12-sites.svg", results::trace_plot(&traced).svg());
    Ok(())
}

/// Trains each head on each forest with every seed, and scores it.
fn trained(answer: &Lesson12, seeds: &[u64], forests: &[ForestKind], heads: &[Head]) -> Result<Vec<Row>> {
    let ways: Vec<(ForestKind, &Head)> = forests
        .iter()
        .flat_map(|&f| heads.iter().map(move |h| (f, h)))
        .collect();
    let scores = in_threads(ways.len() * seeds.len(), |i| {
        let ((forest, head), seed) = (ways[i / seeds.len()], seeds[i % seeds.len()]);
        Network::train(answer, forest, head, seed)?.score(answer, &held_out(forest, seed))
    })?;
    let mut scores = scores.into_iter();
    let row = |&(forest, head): &(ForestKind, &Head)| Row {
        forest,
        head: head.clone(),
        seeds: scores.by_ref().take(seeds.len()).collect(),
    };
    Ok(ways.iter().map(row).collect())
}

/// The results of `count` jobs in their order, computed by two threads, with a bar on a terminal.
fn in_threads<T: Send>(count: usize, job: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let (next, bar) = (AtomicUsize::new(0), canopy::train::bar(count as u64, "trainings"));
    let results = Mutex::new((0..count).map(|_| None).collect::<Vec<Option<Result<T>>>>());
    let work = || loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        if i >= count {
            return;
        }
        let result = job(i);
        bar.inc(1);
        if let Ok(mut results) = results.lock() {
            results[i] = Some(result);
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    bar.finish_and_clear();
    let results = results.into_inner().map_err(|_| anyhow!("a training panicked"))?;
    let all = results.into_iter();
    all.map(|r| r.unwrap_or_else(|| Err(anyhow!("a training did not end"))))
        .collect()
}
