//! The budget race. `cargo run -p capstone` trains as the submission says, within a budget of CPU time, and scores on a
//! practice site. `cargo course capstone score` runs the same program in a sandbox, where it only trains.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, UNIX_EPOCH},
};

use anyhow::{Context, Result, ensure};
use base64::{Engine, engine::general_purpose::STANDARD};
use canopy::{
    cli::grown,
    device,
    loader::OwnAugment,
    train::{Config, RunFolder, Target, Trainer, data, free_name, summary},
};
use canopy_data::{Dataset, builtin, shard, split::Split};
use clap::Parser;
use grader::judge::Channel;

/// As canopy's own: it keeps the pages of large tensors.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Train your submission within the budget, and score it on a practice site.
#[derive(Parser)]
#[command(
    name = "capstone",
    bin_name = "cargo run -p capstone --",
    max_term_width = 80,
    after_help = "Examples:\n  cargo run -p capstone                 as in the race\n  \
    cargo run -p capstone -- --minutes 1  with a smaller budget\n  \
    cargo run -p capstone -- --seed 3     on a different practice site"
)]
struct Options {
    /// Budget in minutes of CPU time, summed over all threads; on systems other than Linux, of wall-clock time
    #[arg(long, default_value_t = 5.0, value_name = "M")]
    minutes: f64,
    /// Seed of the practice site; that of the race is secret
    #[arg(long, default_value_t = 2, value_name = "N")]
    seed: u64,
    /// Train on this folder for the grader, without a score
    #[arg(long, value_name = "DATA", hide = true)]
    race: Option<PathBuf>,
}

/// The whole `main` of the program.
pub fn main(settings: fn() -> &'static str, augment: OwnAugment) -> ExitCode {
    let options = Options::parse();
    let done = match &options.race {
        Some(data) => race(settings, augment, data),
        None => practise(settings(), augment, &options),
    };
    if let Err(error) = done {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Trains in the sandbox, where the kernel enforces the budget. Models do not go through a file: the student's code could
/// replace it with weights that it brought along.
fn race(settings: fn() -> &'static str, augment: OwnAugment, data: &Path) -> Result<()> {
    // Before any code of the student's.
    let mut channel = Channel::open()?.0;
    let mut trainer = trainer(settings(), augment, &shard::open(data)?, Path::new("run"))?;
    trainer.on_best = Some(Box::new(move |model| {
        channel.send("model", Some((STANDARD.encode(model), String::new())))
    }));
    trainer.run(&AtomicBool::new(false)).map(drop)
}

/// Trains within the budget, and scores the best model on the practice site.
fn practise(settings: &str, augment: OwnAugment, options: &Options) -> Result<()> {
    let forest = builtin::Config::default();
    let site = grown(&builtin::Config {
        seed: options.seed,
        trees: 280,
        ..forest
    })?;
    let out = free_name(Path::new("runs"), "capstone");
    let mut trainer = trainer(settings, augment, &grown(&forest)?, &out)?;
    let (start, budget) = (cpu_seconds(), options.minutes * 60.0);
    trainer.run(&stopped(&trainer, start, budget))?;
    let cpu = cpu_seconds() - start;
    ensure!(
        trainer.folder.best().exists(),
        "no model was saved within the budget: lower `evaluate-every` or `epochs`"
    );
    // The practice site replaces the data, so that it is scored as a test set.
    let (config, species) = (&trainer.config, &trainer.data.species);
    let site = site.sampled(config.sample, config.points, config.seed);
    trainer.data = site.relabel(species)?;
    trainer.split = Split::default();
    trainer.split.test = (0..trainer.data.len()).collect();
    let scores = summary::finish(&mut trainer, "")?.evaluation;
    let (epochs, of, out) = (trainer.progress.epoch, trainer.config.epochs, out.display());
    println!("{}", scores.context("the practice site is empty")?);
    println!("{epochs} of {of} epochs, {cpu:.0} s of {budget:.0} s of CPU time · {out}");
    Ok(())
}

/// Becomes true when the budget is used up. Warns after the first epoch if no model will be saved within the budget.
fn stopped(trainer: &Trainer, start: f64, budget: f64) -> Arc<AtomicBool> {
    let (stop, rows) = (Arc::new(AtomicBool::new(false)), trainer.folder.metrics());
    let first = match trainer.split.validation.is_empty() {
        true => trainer.config.epochs,
        false => trainer.config.evaluate_every.min(trainer.config.epochs),
    };
    let (stopping, used) = (stop.clone(), move || cpu_seconds() - start);
    thread::spawn(move || {
        let pause = || thread::sleep(Duration::from_millis(100));
        while used() < budget && !rows.exists() {
            pause();
        }
        let epoch = used();
        if epoch * first as f64 > budget {
            eprintln!(
                "warning: the first model is saved after epoch {first}, and one epoch used {epoch:.0} s of the budget of \
                 {budget:.0} s: lower `evaluate-every` or `epochs`"
            );
        }
        while used() < budget {
            pause();
        }
        stopping.store(true, Relaxed);
    });
    stop
}

/// A run of the settings on `data`.
fn trainer(settings: &str, augment: OwnAugment, data: &Dataset, out: &Path) -> Result<Trainer> {
    let mut config: Config = toml::from_str(settings).context("config.toml has an invalid setting")?;
    ensure!(
        config.target == Target::Species
            && config.species.is_empty()
            && config.ranks == 1
            && config.votes <= 16,
        "config.toml: in the race, leave out target, species and ranks, and use at most 16 votes"
    );
    config.device = "cpu".into();
    // The race resumes nothing.
    config.checkpoint_seconds = 1e9;
    config.validate()?;
    let data = data::choose(&config, data)?;
    let split = data::split(&config, &data)?;
    let folder = RunFolder::create(out)?;
    let mut trainer = Trainer::new(config, data, split, device::choose("cpu")?, folder)?;
    trainer.own_augment = Some(augment);
    Ok(trainer)
}

/// CPU time of this process, summed over its threads, in seconds. On systems other than Linux, the time of day.
fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // User and system time are fields 14 and 15, in ticks of 1/100 s; the second field may contain spaces.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(11).take(2).flat_map(str::parse::<f64>);
    match text.is_empty() {
        true => UNIX_EPOCH.elapsed().unwrap_or_default().as_secs_f64(),
        false => ticks.sum::<f64>() / 100.0,
    }
}
