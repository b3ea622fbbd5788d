//! `canopy bench parallel`: scaling of a training step over ranks on this machine, the cost of their messages, and a
//! prediction for thousands of ranks.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use canopy_data::atomic;
use serde::Serialize;

pub use super::scaling::Args;
use super::scaling::Work;
use crate::{
    model::Kind,
    parallel::{
        Algorithm, Cost,
        measure::{all_reduce_seconds, messages},
        naive_seconds, ring_seconds, strong_efficiency, tree_seconds, weak_efficiency,
    },
    report::svg::{LinePlot, Series},
    train::{machine, ranks::measure::ShortRun},
};

#[derive(Debug, Serialize)]
struct Found {
    bench: &'static str,
    processor: String,
    model: Kind,
    points: usize,
    gradient_bytes: usize,
    #[serde(flatten)]
    measured: Measured,
    /// The cost that the predictions use: measured, or from the options.
    assumed: Cost,
    predicted: Vec<Predicted>,
}

/// Measurements on this machine.
#[derive(Debug, Serialize)]
struct Measured {
    weak: Vec<Row>,
    strong: Vec<Row>,
    /// Bytes and seconds of single messages.
    messages: Vec<(f64, f64)>,
    measured: Cost,
    all_reduce: Vec<Sum>,
}

#[derive(Debug, Serialize)]
struct Row {
    ranks: usize,
    batch: usize,
    step_ms: f64,
    efficiency: f64,
    gradients_mb: f64,
    others_mb: f64,
    sums_ms: f64,
    waited_ms: f64,
}

#[derive(Debug, Serialize)]
struct Sum {
    ranks: usize,
    algorithm: &'static str,
    measured_ms: f64,
    predicted_ms: f64,
}

#[derive(Debug, Serialize)]
struct Predicted {
    ranks: usize,
    ring_ms: f64,
    tree_ms: f64,
    /// Weak-scaling efficiency, without overlap and with full overlap of communication and backward pass.
    efficiency: f64,
    efficiency_hidden: f64,
}

/// Measures, predicts, and prints the results.
///
/// # Errors
/// Returns an error if an option is out of range, training fails or the plot cannot be written.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(
        !args.ranks.is_empty() && args.ranks.iter().all(|p| (1..=64).contains(p)),
        "--ranks: expected at least one number, each from 1 to 64"
    );
    ensure!(
        [args.alpha, args.beta].iter().flatten().all(|v| *v >= 0.0),
        "--alpha and --beta must be at least 0"
    );
    ensure!(
        args.batch >= 2 && args.steps >= 1,
        "--batch must be at least 2, --steps at least 1"
    );
    let found = collect(args)?;
    if let Some(path) = &args.plot {
        atomic::write(path, plot(&found).svg().as_bytes())?;
    }
    if args.json {
        say!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        print(&found)?;
    }
    Ok(ExitCode::SUCCESS)
}

const SIZES: [usize; 6] = [1, 256, 1 << 12, 1 << 15, 1 << 18, 1 << 20];

fn collect(args: &Args) -> Result<Found> {
    let work = Work::open(args)?;
    let (measured, numbers) = measure(args, &work)?;
    let bytes = numbers * size_of::<f32>();
    let assumed = match (args.alpha, args.beta) {
        (Some(alpha), Some(beta)) => Cost { alpha, beta },
        _ => measured.measured,
    };
    let of_one = measured.weak[0].step_ms / 1e3;
    Ok(Found {
        bench: "parallel",
        processor: machine::processor(),
        model: args.model,
        points: args.points,
        gradient_bytes: bytes,
        measured,
        assumed,
        predicted: (1..=12)
            .map(|i| predict(1 << i, of_one, bytes as f64, assumed))
            .collect(),
    })
}

/// Measures ranks on this machine. Also returns how many numbers the gradients hold.
fn measure(args: &Args, work: &Work) -> Result<(Measured, usize)> {
    let [weak, strong] = work.runs(args)?;
    let numbers = weak[0].params.len();
    let messages = messages(&SIZES, 40)?;
    let measured = Cost::fit(&messages)?;
    let seconds = |which: Algorithm, p: usize| all_reduce_seconds(p, numbers, &which.function(), 20);
    let found = Measured {
        weak: weak_rows(args, &weak),
        strong: strong_rows(args, &strong),
        all_reduce: sums(&args.ranks, numbers, measured, &seconds)?,
        messages,
        measured,
    };
    Ok((found, numbers))
}

fn weak_rows(args: &Args, runs: &[ShortRun]) -> Vec<Row> {
    let of = |r: &ShortRun| row(r, args.batch * r.ranks, weak_efficiency(runs[0].step, r.step));
    runs.iter().map(of).collect()
}

fn strong_rows(args: &Args, runs: &[ShortRun]) -> Vec<Row> {
    let most = args.ranks.iter().copied().max().unwrap_or(1);
    let one = runs[0].step * runs[0].ranks as f64;
    let of = |r: &ShortRun| row(r, args.batch * most, strong_efficiency(one, r.step, r.ranks));
    runs.iter().map(of).collect()
}

fn row(run: &ShortRun, batch: usize, efficiency: f64) -> Row {
    let steps = run.stats.steps.max(1) as f64;
    Row {
        ranks: run.ranks,
        batch,
        step_ms: run.step * 1e3,
        efficiency,
        gradients_mb: run.stats.gradients.bytes as f64 / steps / 1e6,
        others_mb: run.stats.others.bytes as f64 / steps / 1e6,
        sums_ms: run.stats.communicating / steps * 1e3,
        waited_ms: run.stats.waited / steps * 1e3,
    }
}

/// Returns the measured and predicted time of an all-reduce of `numbers` numbers, for each algorithm.
fn sums(
    ranks: &[usize],
    numbers: usize,
    cost: Cost,
    measured: &dyn Fn(Algorithm, usize) -> Result<f64>,
) -> Result<Vec<Sum>> {
    type Seconds = fn(usize, f64, Cost) -> f64;
    let algorithms: [(&str, Algorithm, Seconds); 3] = [
        ("ring", Algorithm::Ring, ring_seconds),
        ("tree", Algorithm::Tree, tree_seconds),
        ("naive", Algorithm::Naive, naive_seconds),
    ];
    let mut found = Vec::new();
    for &ranks in ranks.iter().filter(|&&p| p > 1) {
        for (algorithm, which, predicted) in algorithms {
            found.push(Sum {
                ranks,
                algorithm,
                measured_ms: measured(which, ranks)? * 1e3,
                predicted_ms: predicted(ranks, (numbers * size_of::<f32>()) as f64, cost) * 1e3,
            });
        }
    }
    Ok(found)
}

fn predict(ranks: usize, of_one: f64, bytes: f64, cost: Cost) -> Predicted {
    let ring = ring_seconds(ranks, bytes, cost);
    Predicted {
        ranks,
        ring_ms: ring * 1e3,
        tree_ms: tree_seconds(ranks, bytes, cost) * 1e3,
        efficiency: weak_efficiency(of_one, of_one + ring),
        efficiency_hidden: weak_efficiency(of_one, of_one.max(ring)),
    }
}

fn print(found: &Found) -> Result<()> {
    say!(
        "bench parallel: {} PointNet, {} points per cloud, {:.2} MB of gradients;\n{}; one thread per rank",
        found.model,
        found.points,
        found.gradient_bytes as f64 / 1e6,
        found.processor
    );
    print_measured(&found.measured)?;
    let Cost { alpha, beta } = found.assumed;
    say!(
        "\npredicted with α = {:.1} µs, β = {:.3} ns/byte{:>10}{:>12}{:>14}",
        alpha * 1e6,
        beta * 1e9,
        "tree",
        "efficiency",
        "overlapped"
    );
    for p in found
        .predicted
        .iter()
        .filter(|p| [2, 8, 64, 512, 4096].contains(&p.ranks))
    {
        say!(
            "  {:<22}{:>10.2} ms{:>10.2} ms{:>10.0} %{:>12.0} %",
            format!("{} ranks, ring", p.ranks),
            p.ring_ms,
            p.tree_ms,
            100.0 * p.efficiency,
            100.0 * p.efficiency_hidden
        );
    }
    Ok(())
}

fn print_measured(found: &Measured) -> Result<()> {
    for (name, rows) in [("weak scaling", &found.weak), ("strong scaling", &found.strong)] {
        say!(
            "\n{name:<16}{:>6}{:>11}{:>11}{:>11}{:>12}{:>10}",
            "batch",
            "step",
            "efficiency",
            "gradients",
            "batch norm",
            "all-reduce"
        );
        for r in rows {
            say!(
                "  {:<14}{:>6}{:>8.1} ms{:>9.0} %{:>8.2} MB{:>9.2} MB{:>7.1} ms",
                format!("{} ranks", r.ranks),
                r.batch,
                r.step_ms,
                100.0 * r.efficiency,
                r.gradients_mb,
                r.others_mb,
                r.sums_ms
            );
        }
    }
    say!(
        "\n{:<24}{:>11}{:>12}",
        "all-reduce of gradients",
        "measured",
        "predicted"
    );
    for s in &found.all_reduce {
        let name = format!("{} ranks, {}", s.ranks, s.algorithm);
        say!("  {name:<22}{:>8.2} ms{:>9.2} ms", s.measured_ms, s.predicted_ms);
    }
    let Cost { alpha, beta } = found.measured;
    say!(
        "  measured: α = {:.1} µs, β = {:.3} ns/byte",
        alpha * 1e6,
        beta * 1e9
    );
    Ok(())
}

fn plot(found: &Found) -> LinePlot {
    let line = |name: &str, y: fn(&Predicted) -> f64| {
        Series::new(
            name,
            found.predicted.iter().map(|p| (p.ranks as f64, y(p))).collect(),
        )
    };
    let measured = found.measured.weak.iter().map(|r| (r.ranks as f64, r.efficiency));
    let mut plot = LinePlot::new("Weak scaling, measured and predicted", "ranks", "efficiency")
        .with(Series::new("measured here", measured.collect()))
        .with(line("ring, overlapped", |p| p.efficiency_hidden))
        .with(line("ring, no overlap", |p| p.efficiency));
    (plot.log_x, plot.percent, plot.y_range) = (true, true, Some((0.0, 1.0)));
    plot.size = (640.0, 360.0);
    plot
}
