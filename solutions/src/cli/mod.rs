//! The program's commands, one file each.

/// As `println!`, but where nobody reads on (`| head`) the program ends quietly.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        if let Err(e) = writeln!(std::io::stdout(), $($text)*) {
            let quiet = e.kind() == std::io::ErrorKind::BrokenPipe;
            std::process::exit(i32::from(!quiet));
        }
    }};
}

mod bench;
mod data;
mod eval;
mod find_lr;
mod launcher;
mod monitor;
mod options;
mod plan;
mod predict;
mod profile;
mod profiling;
mod roofline;
mod sharpness;
mod stop;
mod train;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tells tree species apart from laser scans.
#[derive(Debug, Parser)]
#[command(name = "canopy", version, max_term_width = 90, after_help = EXAMPLES)]
struct Cli {
    /// Threads for the arithmetic; 0: as many as there are cores
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    threads: usize,

    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  canopy train                              train on the built-in forest, two minutes
  canopy train --data clouds/ --preset full train on a folder with one sub-folder a species
  canopy eval runs/quick                    how good is it, on plots it never saw
  canopy predict runs/quick scans/*.laz     which species are these

Exit codes: 0 done, 1 failed, 2 wrong usage. All is saved and --resume goes on:
75 after SIGUSR1, for the scheduler to queue the job again, 130 after Ctrl-C or
SIGTERM.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Train a PointNet
    Train(Box<train::Args>),
    /// Score a trained model on a data set
    Eval(eval::Args),
    /// Find a learning rate: raise it step by step until training diverges
    FindLr(Box<find_lr::Args>),
    /// Measure how fast it is here
    Bench(bench::Args),
    /// Say what memory a training step needs, and the largest batch that fits
    Plan(plan::Args),
    /// Where the time goes: show a recorded profile, a profiler's kernel table, the machine's roofline
    Profile(profile::Args),
    /// Watch and log how busy graphics cards and processor are
    Monitor(monitor::Args),
    /// Measure how sharply the loss rises around a trained model's weights
    Sharpness(sharpness::Args),
    /// Name the species of clouds
    Predict(predict::Args),
    /// Fetch, import, convert, split and look at data
    #[command(subcommand)]
    Data(data::DataCommand),
}

/// Runs the program.
pub fn main() -> ExitCode {
    tell_panics_of_others_once();
    let cli = Cli::parse();
    if cli.threads > 0 {
        // Fails only where a pool is there already, and none is before this line.
        let _ = rayon::ThreadPoolBuilder::new()
            .num_threads(cli.threads)
            .build_global();
    }
    let result = match cli.command {
        Command::Train(args) => train::run(*args),
        Command::Eval(args) => eval::run(&args),
        Command::FindLr(args) => find_lr::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Monitor(args) => monitor::run(&args),
        Command::Sharpness(args) => sharpness::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Data(command) => data::run(command),
    };
    result.unwrap_or_else(|e| {
        if e.is::<data::progress::Stopped>() {
            eprintln!("{e}");
            return ExitCode::from(stop::STOPPED);
        }
        eprintln!("error: {e:#}");
        ExitCode::FAILURE
    })
}

/// Damaged bytes within a LAZ chunk can make its decoder panic; the reader catches that and gives an error that names
/// the file, so the panic's own words are left out. All other panics are told as ever.
fn tell_panics_of_others_once() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let of_decoder = |l: &std::panic::Location| {
            let file = l.file().replace('\\', "/");
            file.split('/').any(|part| part.starts_with("laz-"))
        };
        if !info.location().is_some_and(of_decoder) {
            usual(info);
        }
    }));
}
