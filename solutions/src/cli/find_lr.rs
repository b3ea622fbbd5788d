//! `canopy find-lr`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::Ordering,
};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{data::open, options::Options, stop};
use crate::{
    device,
    loader::batches,
    report::svg::{LinePlot, Series},
    schedule::{RangeFound, RangeTest},
    train::{
        Config, Loss, bar, data,
        short::{Forest, Learner},
    },
};

/// Options of `canopy find-lr`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each step has a higher learning rate than the one before, by a constant factor (Smith 2015). The suggestion is a rate well
on the way down; the loss breaks where training diverges. Nothing is saved.

Examples:
  canopy find-lr
  canopy find-lr --optimizer sgd --momentum 0.9 --batch 64 --plot lr.svg
  canopy find-lr --data clouds/ --json")]
pub struct Args {
    /// First learning rate
    #[arg(long, default_value_t = 1e-7, value_name = "LR")]
    first: f64,
    /// Last learning rate
    #[arg(long, default_value_t = 10.0, value_name = "LR")]
    last: f64,
    /// Steps from the first to the last rate
    #[arg(long, default_value_t = 100, value_name = "N")]
    steps: u64,
    /// Write the plot, an SVG, here
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// TOML file with settings of a run
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

/// Runs the range test and prints what it found.
///
/// # Errors
/// Settings out of range; the data set's; a plot that cannot be written.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut config = Config::preset("quick")?;
    if let Some(file) = &args.config {
        config = Options::from_file(file)?.over(&config)?;
    }
    config = args.options.over(&config)?;
    config.validate()?;
    ensure!(
        config.points > 0,
        "points is all: the range test needs clouds of one length, set --points to a number"
    );
    let data = data::choose(&config, &open::any(Path::new(&config.data))?)?;
    let split = data::split(&config, &data)?;
    let forest = Forest {
        device: device::choose(&config.device)?.device,
        config,
        data,
        split,
    };
    let test = RangeTest {
        first: args.first,
        last: args.last,
        steps: args.steps,
        ..RangeTest::default()
    };
    let found = found(&forest, &test)?;
    if let Some(path) = &args.plot {
        fs::write(path, plot(&found).svg()).with_context(|| path.display().to_string())?;
    }
    if args.json {
        let json = json!({
            "rates": found.rates,
            "losses": found.losses,
            "suggestion": found.suggestion,
            "diverged": found.broke,
        });
        say!("{json:#}");
    } else {
        print(&found);
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes a step at each rate, on the training batches in their order, as often as needed.
fn found(forest: &Forest, test: &RangeTest) -> Result<RangeFound> {
    let Config {
        batch, seed, clip, ..
    } = forest.config;
    let model = forest.model()?;
    let optimizer = forest.config.optim()?.build(model.params())?;
    let loss = Loss {
        smoothing: forest.config.smoothing,
        class_weights: None,
        orthogonality: forest.config.orthogonality,
    };
    let mut learner = Learner {
        clip,
        seed,
        plain: forest.config.plain,
        lowering: forest.config.precision.lowering(&forest.device),
        ..Learner::new(model, optimizer, loss)
    };
    let clouds = forest.split.train.len();
    ensure!(
        clouds >= batch,
        "there are {clouds} training clouds, and a batch holds {batch}: take a smaller --batch"
    );
    let stop = stop::flag()?;
    let bar = bar(test.steps + 1, "steps");
    let mut epochs = (0..).flat_map(|epoch| {
        let all = batches(&forest.order(epoch), batch, true);
        all.into_iter().map(move |records| (epoch, records))
    });
    let found = test.run(|rate| {
        ensure!(!stop.load(Ordering::Relaxed), "stopped");
        let (epoch, records) = epochs.next().context("no batch is left")?;
        let (points, labels) = forest.batch(&records, epoch)?.to_device(&forest.device)?;
        let loss = learner.step((&points, &labels), rate)?;
        bar.inc(1);
        Ok(f64::from(loss.to_scalar::<f32>()?))
    });
    bar.finish_and_clear();
    found
}

fn print(found: &RangeFound) {
    say!("{:>13}{:>16}", "learning rate", "smoothed loss");
    let every = found.rates.len().div_ceil(20).max(1);
    for (rate, loss) in found.rates.iter().zip(&found.losses).step_by(every) {
        say!("{rate:>13.2e}{loss:>16.4}");
    }
    match found.broke {
        true => say!("then the loss broke: training diverges"),
        false => say!("the loss did not break: the last rate may be too low"),
    }
    match found.suggestion {
        Some(rate) => say!("suggestion: --learning-rate {rate:.1e}"),
        None => say!("no suggestion: the loss never fell"),
    }
}

fn plot(found: &RangeFound) -> LinePlot {
    let points = found.rates.iter().copied().zip(found.losses.iter().copied());
    let mut plot = LinePlot::new("Learning rate range test", "learning rate", "smoothed loss")
        .with(Series::new("loss", points.collect()));
    (plot.log_x, plot.size) = (true, (640.0, 360.0));
    plot
}
