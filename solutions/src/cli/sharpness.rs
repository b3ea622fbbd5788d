//! `canopy sharpness`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Result, ensure};
use candle_core::{DType, Error, Var};
use serde::Serialize;

use super::{data::open, eval};
use crate::{
    device,
    kernels::{Pass, cross_entropy},
    loader::{Batch, batches, epoch_order},
    model::PointNet,
    optim::{loss_along, random_directions},
    train::{Config, bar, checkpoint, data, evaluate},
};

/// Options of `canopy sharpness`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The weights w of the trained model are moved along random directions d to w + αd, and
the loss is measured at each α. Each filter of d has the norm of the model's own filter,
so α = 0.5 changes every filter by half its length, and runs can be compared (Li et al.
2018). A flat minimum has a small sharpness, a sharp one a large sharpness.

Examples:
  canopy sharpness runs/quick
  canopy sharpness runs/quick --part validation --clouds 64
  canopy sharpness runs/quick --directions 10 --reach 1 --seed 7 --json")]
pub struct Args {
    /// Folder of a run
    run: PathBuf,
    /// Part of the data on which the loss is measured
    #[arg(long, default_value = "train", value_parser = ["train", "validation", "test"])]
    part: String,
    /// Number of clouds on which the loss is measured, at most
    #[arg(long, value_name = "N", default_value_t = 256)]
    clouds: usize,
    /// Number of random directions
    #[arg(long, value_name = "N", default_value_t = 4)]
    directions: u64,
    /// Largest α
    #[arg(long, value_name = "ALPHA", default_value_t = 0.5)]
    reach: f64,
    /// Number of values of α on either side of 0
    #[arg(long, value_name = "N", default_value_t = 4)]
    steps: u32,
    /// Seeds the directions and the choice of clouds
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// auto, cpu, cuda or cuda:N; otherwise the run's
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Print the losses as JSON
    #[arg(long)]
    json: bool,
}

/// The loss around a model's weights.
#[derive(Debug, Serialize)]
struct Landscape {
    part: String,
    clouds: usize,
    seed: u64,
    /// The values of α, ascending, 0 in the middle.
    alphas: Vec<f64>,
    /// `[directions][alphas]`: the mean cross-entropy, nats.
    losses: Vec<Vec<f64>>,
    /// The mean loss at both ends minus the loss in the middle.
    sharpness: f64,
}

/// Measures the loss along random directions and prints it.
///
/// # Errors
/// Returns an error if an option is out of range, or if the run or its data cannot be read.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(
        args.reach > 0.0 && args.reach.is_finite(),
        "--reach is {}: it must be a number above 0",
        args.reach
    );
    ensure!(
        args.directions > 0 && args.steps > 0 && args.clouds > 0,
        "--directions, --steps and --clouds must be at least 1"
    );
    let best = eval::best_of(&args.run)?;
    let saved = checkpoint::load(&best)?;
    let config = saved.progress.config;
    config.expect_species("sharpness")?;
    let device = device::choose(args.device.as_ref().unwrap_or(&config.device))?.device;
    let network = config.network(saved.progress.species.len());
    let model = PointNet::new(&network, &device, DType::F32, 0)?;
    model.from_map(&saved.model, &best.display().to_string())?;
    let landscape = measure(args, &model, &chosen(args, &config)?, config.plain)?;
    if args.json {
        say!("{}", serde_json::to_string_pretty(&landscape)?);
    } else {
        print(&landscape)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The batches on which the loss is measured, without augmentation.
fn chosen(args: &Args, config: &Config) -> Result<Vec<Batch>> {
    let data = data::choose(config, &open::any(Path::new(&config.data))?)?;
    let split = data::split(config, &data)?;
    let part = match args.part.as_str() {
        "train" => split.train,
        "validation" => split.validation,
        _ => split.test,
    };
    ensure!(
        !part.is_empty(),
        "the part '{}' has no clouds: choose another with --part",
        args.part
    );
    let mut order = epoch_order(part.len(), args.seed, 0);
    order.truncate(args.clouds);
    let records: Vec<usize> = order.into_iter().map(|i| part[i]).collect();
    let collate = evaluate::collate(&data, config.cloud_points(), config.frame, config.features);
    let cut = batches(&records, config.batch, false);
    cut.iter().map(|records| collate.batch(records, 0)).collect()
}

/// The sum of the losses of a batch's clouds.
fn loss_of(model: &PointNet, batch: &Batch, plain: bool) -> Result<f64> {
    let (points, labels) = batch.to_device(&model.device())?;
    let pass = Pass::eval().plain(plain);
    let logits = match batch.mask_tensor()? {
        None => model.forward(&points, &pass)?.logits,
        Some(mask) => model.forward_masked(&points, &mask, &pass)?.logits,
    };
    let mean = cross_entropy(&logits, &labels, 0.0, None)?.to_scalar::<f32>()?;
    Ok(f64::from(mean) * batch.labels.len() as f64)
}

fn measure(args: &Args, model: &PointNet, batches: &[Batch], plain: bool) -> Result<Landscape> {
    let steps = i64::from(args.steps);
    let alphas: Vec<f64> = (-steps..=steps)
        .map(|i| args.reach * i as f64 / steps as f64)
        .collect();
    let params: Vec<Var> = model.params().into_iter().map(|(_, var)| var).collect();
    let bar = bar(args.directions * alphas.len() as u64, "measuring");
    let clouds: usize = batches.iter().map(|batch| batch.labels.len()).sum();
    let mut loss = || {
        let losses = batches.iter().map(|batch| loss_of(model, batch, plain));
        let sum: f64 = losses
            .sum::<Result<f64>>()
            .map_err(|e| Error::wrap(format!("{e:#}")))?;
        bar.inc(1);
        Ok(sum / clouds as f64)
    };
    let mut losses = Vec::new();
    for direction in 0..args.directions {
        // Directions of one seed differ, and so do those of two seeds.
        let seed = canopy_data::Purpose::Direction
            .stream(args.seed, direction)
            .next_u64();
        let directions = random_directions(&params, seed)?;
        losses.push(loss_along(&params, &directions, &alphas, &mut loss)?);
    }
    bar.finish_and_clear();
    let last = alphas.len() - 1;
    let rise = |row: &Vec<f64>| (row[0] + row[last]) / 2.0 - row[last / 2];
    Ok(Landscape {
        part: args.part.clone(),
        clouds,
        seed: args.seed,
        sharpness: losses.iter().map(rise).sum::<f64>() / losses.len() as f64,
        alphas,
        losses,
    })
}

fn print(found: &Landscape) -> Result<()> {
    let count = found.losses.len();
    say!(
        "The loss of {} clouds ({}) along {count} random directions\n",
        found.clouds,
        found.part
    );
    say!("       α      mean    lowest   highest");
    for (i, alpha) in found.alphas.iter().enumerate() {
        let column = found.losses.iter().map(|row| row[i]);
        let mean = column.clone().sum::<f64>() / count as f64;
        let (low, high) = (
            column.clone().fold(f64::INFINITY, f64::min),
            column.fold(0.0, f64::max),
        );
        say!("{alpha:>8.3}{mean:>10.4}{low:>10.4}{high:>10.4}");
    }
    let reach = found.alphas.last().copied().unwrap_or_default();
    say!(
        "\nsharpness {:.4}: the mean rise of the loss at α = ±{reach}",
        found.sharpness
    );
    Ok(())
}
