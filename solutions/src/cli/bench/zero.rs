//! `canopy bench zero`: what ranks keep, have allocated and send, and how long a step takes, at each stage of ZeRO.

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::by_mpirun;
use crate::{
    cli::launcher,
    model::Kind,
    shard::{Stage, numbers_sent},
    train::{
        Config, choice, machine,
        ranks::{
            RankFunctions,
            measure::{Start, short_run},
        },
        short::Forest,
    },
};

/// Options of `canopy bench zero`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
On the CPU, with one core for each rank. The ranks are threads, whose messages are counted. Built with MPI, it also calls mpirun
for each number of ranks above 1. Then each rank is a process: what it has allocated is measured, and the times are those of the
processes. One rank alone is a process in any case.
With more ranks than cores, the times say little:
  canopy bench zero --ranks 1,2,4
  mpirun -n 8 canopy bench zero")]
pub struct Args {
    /// Numbers of ranks
    #[arg(long, value_delimiter = ',', default_value = "1,2,4", value_name = "N,…")]
    ranks: Vec<usize>,
    /// Network
    #[arg(long, default_value = "vanilla", value_parser = choice::<Kind>(&["full", "vanilla"]))]
    model: Kind,
    /// Divide the width of every hidden layer
    #[arg(long, default_value_t = 1, value_name = "N")]
    width: usize,
    /// Points per cloud
    #[arg(long, default_value_t = 64, value_name = "N")]
    points: usize,
    /// Clouds per rank
    #[arg(long, default_value_t = 4, value_name = "N")]
    batch: usize,
    /// Steps; the fastest counts
    #[arg(long, default_value_t = 6, value_name = "N")]
    steps: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The results.
#[derive(Debug, Serialize, Deserialize)]
struct Found {
    bench: String,
    processor: String,
    parameters: u64,
    rows: Vec<Row>,
    /// Why no ranks were processes.
    without_mpi: Option<String>,
}

/// A stage on some ranks. Bytes are those of a rank.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    ranks: usize,
    stage: usize,
    /// Of the model.
    parameters: u64,
    /// Weights, gradients and optimizer state of rank 0, counted by their sizes, and as [`bytes_per_rank`] predicts them.
    ///
    /// [`bytes_per_rank`]: crate::shard::bytes_per_rank
    kept: u64,
    predicted: u64,
    /// What else exists for a moment, counted.
    passing: u64,
    /// The least and the most that a process had allocated when its optimizer stepped, and between steps.
    stepping: Option<[u64; 2]>,
    between: Option<[u64; 2]>,
    /// Bytes of gradients and parameters that rank 0 sends in a step; `None` for processes, because MPI does not say what it sends.
    sent: Option<f64>,
    predicted_sent: u64,
    /// Of ranks that are processes, if `stepping` was measured.
    step_ms: f64,
}

/// Trains at each stage and prints the results. One of several processes of a launcher measures these processes only.
///
/// # Errors
/// Returns an error if an option is out of range, or if training fails.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(
        !args.ranks.is_empty() && args.ranks.iter().all(|p| (1..=64).contains(p)),
        "--ranks: expected at least one number, each from 1 to 64"
    );
    ensure!(
        args.batch >= 2 && args.steps >= 1 && args.points >= 1,
        "--batch must be at least 2, --points and --steps at least 1"
    );
    let found = match launcher::connected()? {
        Some((place, processes)) => {
            let rows = measure(args, place.world_size, Start::Processes(&*processes));
            let rows = rows.unwrap_or_else(|error| processes.abort(&format!("{error:#}")));
            processes.finish(None);
            if place.rank > 0 {
                return Ok(ExitCode::SUCCESS);
            }
            Found::new(rows, None)?
        }
        None => {
            let mut rows = Vec::new();
            for &ranks in &args.ranks {
                let start = if ranks == 1 { Start::Alone } else { Start::Threads };
                rows.extend(measure(args, ranks, start)?);
            }
            let reason = args
                .ranks
                .iter()
                .filter(|&&ranks| ranks > 1)
                .try_for_each(|&ranks| {
                    let found: Found = by_mpirun::found(ranks)?;
                    found.rows.into_iter().for_each(|own| add(&mut rows, own));
                    Ok::<_, anyhow::Error>(())
                });
            Found::new(
                rows,
                by_mpirun::missing().or_else(|| reason.err().map(|r| format!("{r:#}"))),
            )?
        }
    };
    match args.json {
        true => say!("{}", serde_json::to_string_pretty(&found)?),
        false => print(args, &found)?,
    }
    Ok(by_mpirun::exit_code(found.without_mpi.as_deref()))
}

/// Adds what processes measured to the row of the same ranks and stage.
fn add(rows: &mut [Row], own: Row) {
    let same = |row: &&mut Row| (row.ranks, row.stage) == (own.ranks, own.stage);
    if let Some(row) = rows.iter_mut().find(same) {
        (row.stepping, row.between, row.step_ms) = (own.stepping, own.between, own.step_ms);
    }
}

fn config(args: &Args, ranks: usize) -> Config {
    Config {
        model: args.model,
        width: args.width,
        points: args.points,
        batch: args.batch * ranks,
        epochs: 1,
        ranks,
        ..Config::default()
    }
}

/// Trains on `ranks` ranks at each stage.
fn measure(args: &Args, ranks: usize, start: Start) -> Result<Vec<Row>> {
    let Forest {
        config, data, split, ..
    } = Forest::open(config(args, ranks))?;
    let records = split.train.iter().cycle().take(config.batch * args.steps);
    let records: Vec<usize> = records.copied().collect();
    let one = |stage: Stage| {
        let config = Config {
            zero: stage as u8,
            ..config.clone()
        };
        config.validate()?;
        let run = short_run(&config, &data, &records, RankFunctions::default(), start)?;
        let stats = run.stats;
        let Some(memory) = stats.memory else {
            // Rank 0 alone has measurements.
            return Ok(None);
        };
        let sum = |bytes: [u64; 3]| bytes.iter().sum();
        Ok(Some(Row {
            ranks,
            stage: stage as usize,
            parameters: memory.parameters,
            kept: sum(memory.counted()),
            predicted: sum(memory.predicted(stage, ranks as u64)),
            passing: memory.passing + memory.listed,
            stepping: stats.allocated.map(|a| a.stepping),
            between: stats.allocated.map(|a| a.between),
            sent: (!matches!(start, Start::Processes(_)))
                .then(|| (stats.gradients.bytes + stats.parameters.bytes) as f64 / stats.steps.max(1) as f64),
            predicted_sent: size_of::<f32>() as u64 * numbers_sent(memory.parameters, stage, ranks as u64),
            step_ms: 1e3 * run.step,
        }))
    };
    let rows: Result<Vec<Option<Row>>> = Stage::ALL.into_iter().map(one).collect();
    Ok(rows?.into_iter().flatten().collect())
}

impl Found {
    fn new(rows: Vec<Row>, without_mpi: Option<String>) -> Result<Self> {
        let first = rows.first().context("rank 0 measured nothing")?;
        Ok(Self {
            bench: "zero".into(),
            processor: machine::processor(),
            parameters: first.parameters,
            rows,
            without_mpi,
        })
    }
}

fn print(args: &Args, found: &Found) -> Result<()> {
    say!(
        "bench zero: {} PointNet with {} parameters, {} clouds of {} points for each rank; AdamW in fp32;\n{}",
        args.model,
        found.parameters,
        args.batch,
        args.points,
        found.processor
    );
    if let Some(reason) = &found.without_mpi {
        let which = match found.rows.iter().any(|row| row.stepping.is_some()) {
            true => "some ranks have",
            false => "each rank has",
        };
        say!("what {which} allocated: not measured, because {reason}");
    }
    let mb = |bytes: f64| format!("{:.2}", bytes / 1e6);
    let range = |range: &Option<[u64; 2]>| match range {
        Some([least, most]) => format!("{} to {}", mb(*least as f64), mb(*most as f64)),
        None => "–".into(),
    };
    let label = |row: &Row| format!("{:<3}{:<14}", row.ranks, Stage::ALL[row.stage].to_string());
    say!("\nMB of a rank     counted  predicted   for a moment    allocated: at the step    between steps");
    for row in &found.rows {
        say!(
            "{}{:>7}{:>11}{:>15}{:>26}{:>17}",
            label(row),
            mb(row.kept as f64),
            mb(row.predicted as f64),
            mb(row.passing as f64),
            range(&row.stepping),
            range(&row.between)
        );
    }
    say!("\na step           sent, MB  predicted        ms  ranks are");
    for row in &found.rows {
        say!(
            "{}{:>8}{:>11}{:>10.1}  {}",
            label(row),
            row.sent.map_or_else(|| "–".into(), mb),
            mb(row.predicted_sent as f64),
            row.step_ms,
            if row.stepping.is_some() {
                "processes"
            } else {
                "threads"
            }
        );
    }
    Ok(())
}
