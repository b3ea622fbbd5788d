//! `canopy bench filter`: how many rows of the widest layer may hold a channel's maximum, by the format of the first
//! products (see `kernels::filter`).

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Result, ensure};
use candle_core::{D, DType, Tensor};
use serde::Serialize;

use crate::{
    model::PointNet,
    precision::{BF16, FP8_E4M3, FP16, Format, TF32, round_to, scale_for},
    report::svg::{LinePlot, Series},
    train::{
        Config, Loss,
        short::{Forest, Learner},
    },
};

/// Options of `canopy bench filter`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Epochs of training before the second count
    #[arg(long, default_value_t = 4, value_name = "N")]
    epochs: usize,
    /// Clouds to count in, of the test plots
    #[arg(long, default_value_t = 16, value_name = "N")]
    clouds: usize,
    /// Points per cloud
    #[arg(long, default_value_t = 1024, value_name = "N")]
    points: usize,
    /// Divide the width of every hidden layer
    #[arg(long, default_value_t = 1, value_name = "N")]
    width: usize,
    /// Random seed
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Write the plot to this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How operands are rounded.
#[derive(Clone, Copy)]
enum Rounding {
    /// fp8 with one scale for each tensor.
    Scaled(Format),
    /// Integers, with a scale for each block of rows and for each column. `kernels::filter` sorts the rows first.
    Int8,
    Float(Format),
}

const FORMATS: [(&str, Rounding); 5] = [
    ("fp8 e4m3", Rounding::Scaled(FP8_E4M3)),
    ("int8", Rounding::Int8),
    ("bf16", Rounding::Float(BF16)),
    ("fp16", Rounding::Float(FP16)),
    ("tf32", Rounding::Float(TF32)),
];

/// Rows of a block.
const BLOCK: usize = 16;

#[derive(Debug, Serialize)]
struct Row {
    format: &'static str,
    weights: &'static str,
    mean: f64,
    median: u32,
    percentile_99: u32,
    /// Values that differ from the f32 product by more than the bound.
    violations: usize,
    #[serde(skip)]
    counts: Vec<u32>,
}

/// Counts with fresh weights, trains, counts again, and prints the results.
///
/// # Errors
/// Returns an error if an option is out of range, training fails or the plot cannot be written.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.clouds >= 1, "--clouds must be at least 1, it is 0");
    let config = Config {
        points: args.points,
        width: args.width,
        seed: args.seed,
        ..Config::default()
    };
    config.validate()?;
    let forest = Forest::open(config)?;
    let test = &forest.split.test;
    let records = &test[..args.clouds.min(test.len())];
    let (points, _) = forest.batch(records, 0)?.to_device(&forest.device)?;
    let model = forest.model()?;
    forest.measure_statistics(&model)?;
    let mut rows = count(&model, &points, "fresh")?;
    let optimizer = forest.config.optim()?.build(model.params())?;
    let mut learner = Learner::new(model, optimizer, Loss::CROSS_ENTROPY);
    for epoch in 0..args.epochs as u64 {
        let rate = forest.config.learning_rate;
        learner.epoch(&mut forest.epoch(epoch, forest.config.batch), &mut |_| rate)?;
    }
    rows.extend(count(&learner.model, &points, "trained")?);
    if super::save(&rows, args.plot.as_deref(), plot, args.json)? {
        return Ok(ExitCode::SUCCESS);
    }
    say!(
        "Rows of {} that may hold the maximum of a channel, over {} clouds.\n",
        args.points,
        records.len()
    );
    say!("format      weights    mean  median   99 %  violations");
    for Row {
        format,
        weights,
        mean,
        median,
        percentile_99,
        violations,
        ..
    } in &rows
    {
        say!("{format:<10}{weights:>9}{mean:>8.1}{median:>8}{percentile_99:>7}{violations:>12}");
    }
    Ok(ExitCode::SUCCESS)
}

fn count(model: &PointNet, points: &Tensor, weights: &'static str) -> Result<Vec<Row>> {
    let (rows, w) = model.widest_operands(points)?;
    let per_cloud = points.dim(1)?;
    FORMATS
        .into_iter()
        .map(|(format, rounding)| {
            let near_w = rounded(&w, rounding, 1)?;
            let (mut counts, mut violations) = (Vec::new(), 0);
            for from in (0..rows.dim(0)?).step_by(per_cloud) {
                let a = rows.narrow(0, from, per_cloud)?;
                let of_cloud = candidates(&a, &w, &rounded(&a, rounding, BLOCK)?, &near_w)?;
                counts.extend(of_cloud.0);
                violations += of_cloud.1;
            }
            counts.sort_unstable();
            let at = |share: f64| counts[((counts.len() - 1) as f64 * share) as usize];
            Ok(Row {
                format,
                weights,
                mean: counts.iter().map(|&c| f64::from(c)).sum::<f64>() / counts.len() as f64,
                median: at(0.5),
                percentile_99: at(0.99),
                violations,
                counts: counts.clone(),
            })
        })
        .collect()
}

/// Rounds a matrix; integers with one scale for `block` rows.
fn rounded(x: &Tensor, rounding: Rounding, block: usize) -> Result<Tensor> {
    let mut values: Vec<f32> = x.flatten_all()?.to_vec1()?;
    let greatest = |of: &[f32]| of.iter().fold(0.0_f32, |top, v| top.max(v.abs()));
    match rounding {
        Rounding::Float(format) => values.iter_mut().for_each(|v| *v = round_to(*v, format)),
        Rounding::Scaled(format) => {
            let scale = scale_for(greatest(&values), format, 0);
            values
                .iter_mut()
                .for_each(|v| *v = round_to(*v * scale, format) / scale);
        }
        Rounding::Int8 => {
            // Activations behind a ReLU have no sign, so they have 255 steps instead of 127.
            let steps = if values.iter().any(|&v| v < 0.0) {
                127.0
            } else {
                255.0
            };
            for block in values.chunks_mut(block * x.dim(1)?) {
                let scale = greatest(block).max(f32::MIN_POSITIVE) / steps;
                block
                    .iter_mut()
                    .for_each(|v| *v = (*v / scale).round_ties_even() * scale);
            }
        }
    }
    Ok(Tensor::from_vec(values, x.dims(), x.device())?)
}

/// For each column of w, the rows whose upper bound reaches the f32 product of the row with the greatest lower bound; and
/// the number of products that break the bound. All in f64.
fn candidates(a: &Tensor, w: &Tensor, near_a: &Tensor, near_w: &Tensor) -> Result<(Vec<u32>, usize)> {
    let [a, w, near_a, near_w] = [a, w, near_a, near_w].map(|t| t.to_dtype(DType::F64));
    let (a, w, near_a, near_w) = (a?, w?, near_a?, near_w?);
    let norms = |t: &Tensor| t.sqr()?.sum_keepdim(D::Minus1)?.sqrt();
    let outer = |rows: Tensor, columns: Tensor| rows.matmul(&columns.t()?);
    let exact = a.matmul(&w.t()?)?;
    let near = near_a.matmul(&near_w.t()?)?;
    let of_rows = outer(norms(&(&a - &near_a)?)?, norms(&w)?)?;
    let of_columns = outer(norms(&near_a)?, norms(&(&w - &near_w)?)?)?;
    let sums = (outer(norms(&a)?, norms(&w)?)? * (a.dim(1)? as f64 * 2_f64.powi(-24)))?;
    let bound = ((of_rows + of_columns)? + sums)?;
    let violations = (&exact - &near)?.abs()?.gt(&bound)?;
    let likely = (&near - &bound)?.argmax_keepdim(0)?;
    let reached = exact.gather(&likely, 0)?;
    let reaching = (near + bound)?.broadcast_ge(&reached)?;
    let count = |t: &Tensor| t.to_dtype(DType::U32)?.sum(0)?.to_vec1::<u32>();
    Ok((
        count(&reaching)?,
        count(&violations)?.iter().sum::<u32>() as usize,
    ))
}

/// The share of maxima with at most so many candidates.
fn plot(rows: &[Row]) -> LinePlot {
    let mut plot = LinePlot::new(
        "Candidates for a maximum",
        "candidates",
        "share of maxima with no more",
    );
    for r in rows.iter().filter(|r| r.weights == "trained") {
        let points = (1..=r.counts.len()).map(|i| {
            let (count, share) = (r.counts[i - 1], i as f64 / r.counts.len() as f64);
            (f64::from(count), share)
        });
        // Of equal counts the last.
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for (count, share) in points {
            steps.pop_if(|last| last.0 == count);
            steps.push((count, share));
        }
        plot = plot.with(Series::new(r.format, steps));
    }
    (plot.log_x, plot.percent, plot.y_range) = (true, true, Some((0.0, 1.0)));
    plot.for_the_book()
}
