//! `canopy bench scale`: steps of 1 to N ranks that are threads, or of ranks that are processes.

use std::process::ExitCode;

use anyhow::Result;
use clap::builder::RangedU64ValueParser;
use serde::Serialize;

use crate::{
    cli::{
        collective::{self, Collective},
        launcher,
        options::at_least,
        table::show,
    },
    device::{self, Chosen},
    model::Kind,
    parallel::{Place, Processes, strong_efficiency, weak_efficiency},
    train::{
        Config, choice, machine,
        ranks::{
            RankFunctions,
            measure::{ShortRun, Start, short_run},
        },
        short::Forest,
    },
};

/// Options of `canopy bench scale`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Each rank has one thread, so with more ranks than cores the ranks share cores, and the efficiency falls for that reason.
Ranks are threads, or the processes of mpirun or srun. With --collective nccl these train on GPUs, otherwise on the CPU:
  canopy bench scale --ranks 1,2
  mpirun -n 8 canopy bench scale
  mpirun -n 4 canopy bench scale --collective nccl --batch 256")]
pub struct Args {
    /// Numbers of ranks to measure; the baseline is always one rank
    #[arg(long, value_delimiter = ',', default_value = "1,2,4", value_name = "N,…",
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    ranks: Vec<usize>,
    /// Network
    #[arg(long, default_value = "vanilla", value_parser = choice::<Kind>(&["full", "vanilla"]))]
    model: Kind,
    /// Points per cloud
    #[arg(long, default_value_t = 256, value_name = "N")]
    points: usize,
    /// Clouds per rank; in strong scaling, the batch size is this times the largest number of ranks
    #[arg(long, default_value_t = 8, value_parser = at_least(2), value_name = "N")]
    batch: usize,
    /// Divide the width of every hidden layer
    #[arg(long, default_value_t = 1, value_name = "N")]
    width: usize,
    /// Steps in each of two epochs; the fastest step counts
    #[arg(long, default_value_t = 6, value_parser = at_least(1), value_name = "N")]
    steps: usize,
    /// What carries the messages between processes [default: mpi]
    #[arg(long, value_name = "ENGINE")]
    collective: Option<Collective>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Steps of one rank and of several.
#[derive(Default, Serialize)]
struct Found {
    /// What the ranks are.
    name: String,
    model: Kind,
    points: usize,
    /// The step of one rank, with the batch of one rank and with that of all: the baselines.
    one_ms: f64,
    one_strong_ms: f64,
    /// The batch grows with the ranks.
    weak: Vec<Row>,
    /// All ranks share one batch.
    strong: Vec<Row>,
    processor: String,
    cores: usize,
}

/// A step of several ranks.
#[derive(Debug, Serialize)]
struct Row {
    ranks: usize,
    /// Clouds in the batch of all ranks.
    batch: usize,
    step_ms: f64,
    efficiency: f64,
    /// How many times as long a step takes that reduces all gradients after the backward pass: above 1, overlap wins.
    overlap: f64,
    /// The gradients that a rank sends in a step.
    sent_mb: f64,
    all_reduce_ms: f64,
    /// The part of it after the backward pass.
    waited_ms: f64,
}

/// Measures, and prints the results. One of several processes of a launcher measures these processes.
pub fn run(args: &Args) -> Result<ExitCode> {
    let place = launcher::place()?;
    collective::check(args.collective, place.as_ref())?;
    // Before CUDA: MPI's settings are in the environment.
    let connected = launcher::connected()?;
    let chosen = match args.collective {
        Some(Collective::Nccl) => device::choose(&launcher::device(place.as_ref(), "cuda")?)?,
        _ => device::choose("cpu")?,
    };
    let ranks = match &connected {
        Some((place, _)) => vec![place.world_size],
        None => args.ranks.clone(),
    };
    let forest = Forest::open(Config {
        model: args.model,
        points: args.points,
        width: args.width,
        epochs: 2,
        ..Config::default()
    })?;
    let work = Work {
        args,
        largest: args.batch * ranks.iter().max().unwrap_or(&1),
        forest,
        chosen,
    };
    let found = match connected {
        #[cfg_attr(not(feature = "nccl"), expect(unused_mut, reason = "only NCCL changes it"))]
        Some((place, mut processes)) => {
            #[cfg(feature = "nccl")]
            if args.collective == Some(Collective::Nccl) {
                collective::connect(&mut *processes, args.collective, &work.chosen.device)?;
            }
            work.processes(&place, processes)?
        }
        None => {
            let mut found = work.baselines("threads".into())?;
            for ranks in ranks.into_iter().filter(|&ranks| ranks > 1) {
                work.scaled(ranks, &mut found, Start::Threads)?;
            }
            Some(found)
        }
    };
    // Only rank 0 prints.
    if let Some(found) = found {
        show(&found, args.json)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The network and the data of the trainings.
struct Work<'a> {
    args: &'a Args,
    /// Clouds in the batch of strong scaling.
    largest: usize,
    forest: Forest,
    chosen: Chosen,
}

impl Work<'_> {
    /// Measures the processes of a job, of which this one is at `place`. Returns the results on rank 0.
    fn processes(&self, place: &Place, processes: Box<dyn Processes>) -> Result<Option<Found>> {
        let (leads, ranks) = (place.rank == 0, place.world_size);
        let links = processes.links()?;
        let name = match self.args.collective {
            Some(Collective::Nccl) => format!("NCCL, {ranks} GPUs"),
            _ => format!("MPI, {ranks} processes"),
        };
        // The other ranks wait at the barrier, so that the baseline has the machine to itself.
        let mut found = match leads {
            true => self.baselines(name)?,
            false => Found::default(),
        };
        links.barrier()?;
        self.scaled(ranks, &mut found, Start::Processes(&*processes))?;
        links.barrier()?;
        drop(links);
        processes.finish(None);
        Ok(leads.then_some(found))
    }

    /// Steps of one rank: with the batch of one rank, and with that of all.
    fn baselines(&self, name: String) -> Result<Found> {
        let one = |batch| -> Result<f64> { Ok(1e3 * self.train(1, batch, true, Start::Threads)?.step) };
        Ok(Found {
            name,
            model: self.args.model,
            points: self.args.points,
            one_ms: one(self.args.batch)?,
            one_strong_ms: one(self.largest)?,
            processor: machine::processor(),
            cores: rayon::current_num_threads(),
            ..Found::default()
        })
    }

    /// Measures weak and strong scaling to `ranks` ranks, with and without overlap, against the baselines in `found`.
    fn scaled(&self, ranks: usize, found: &mut Found, start: Start) -> Result<()> {
        let weak = |ms| weak_efficiency(found.one_ms, ms);
        let strong = |ms| strong_efficiency(found.one_strong_ms, ms, ranks);
        let weak = self.row(ranks, self.args.batch * ranks, weak, start)?;
        let strong = self.row(ranks, self.largest, strong, start)?;
        found.weak.push(weak);
        found.strong.push(strong);
        Ok(())
    }

    fn row(&self, ranks: usize, batch: usize, efficiency: impl Fn(f64) -> f64, start: Start) -> Result<Row> {
        let overlapped = self.train(ranks, batch, true, start)?;
        let after = self.train(ranks, batch, false, start)?;
        let stats = overlapped.stats;
        let steps = stats.steps.max(1) as f64;
        Ok(Row {
            ranks,
            batch,
            step_ms: 1e3 * overlapped.step,
            efficiency: efficiency(1e3 * overlapped.step),
            overlap: after.step / overlapped.step,
            sent_mb: stats.gradients.bytes as f64 / steps / 1e6,
            all_reduce_ms: 1e3 * stats.communicating / steps,
            waited_ms: 1e3 * stats.waited / steps,
        })
    }

    /// Trains for two epochs with `batch` clouds in each step.
    fn train(&self, ranks: usize, batch: usize, overlap: bool, start: Start) -> Result<ShortRun> {
        let config = Config {
            ranks,
            batch,
            overlap,
            ..self.forest.config.clone()
        };
        config.validate()?;
        let records = self.forest.split.train.iter().cycle();
        let records: Vec<usize> = records.take(batch * self.args.steps).copied().collect();
        let data = (&self.forest.data, &*records);
        short_run(
            self.chosen.clone(),
            &config,
            data,
            RankFunctions::default(),
            start,
        )
    }
}
