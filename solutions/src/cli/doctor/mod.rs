//! `canopy doctor`: what `nvidia-smi`, CUDA and Slurm say of this machine, and what to do about it.

mod gpu;
mod slurm;

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use crate::{
    kernels::{Filter, InstructionSet},
    train::machine,
};

/// Options of `canopy doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each line is ok, a warning (it works, but something is lost) or wrong, with what to do.

Examples:
  canopy doctor                       examine this machine
  canopy doctor --json                the same for a script
  srun --gres=gpu:1 canopy doctor     examine what a job gets

Exit codes: 0 if nothing is wrong (warnings do not count), 1 if something is.")]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warning,
    Wrong,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Line {
    name: String,
    state: State,
    /// What was found.
    found: String,
    /// What to do, if it is not ok.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Line {
    fn ok(name: &str, found: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            state: State::Ok,
            found: found.into(),
            advice: None,
        }
    }

    /// This line in another state, with what to do.
    fn but(self, state: State, advice: impl Into<String>) -> Self {
        let advice = Some(advice.into());
        Self {
            state,
            advice,
            ..self
        }
    }
}

/// Examines the machine and prints a line for each thing.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut lines = gpu::lines();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    lines.push(cpu(cores));
    lines.push(slurm::line(&|name| std::env::var(name).ok(), cores));
    let count = |state| lines.iter().filter(|l| l.state == state).count();
    let (wrong, warnings) = (count(State::Wrong), count(State::Warning));
    if args.json {
        say!(
            "{:#}",
            json!({ "wrong": wrong, "warnings": warnings, "lines": lines })
        );
    } else {
        for line in &lines {
            let state = match line.state {
                State::Ok => "ok",
                State::Warning => "warning",
                State::Wrong => "WRONG",
            };
            say!("{state:<7} {:<6} {}", line.name, line.found);
            if let Some(advice) = &line.advice {
                say!("               → {advice}");
            }
        }
        say!("\nWrong: {wrong}. Warnings: {warnings}.");
    }
    Ok(match wrong {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// The cores, and the units of the CPU that canopy's operators use.
fn cpu(cores: usize) -> Line {
    let threads = rayon::current_num_threads();
    let set = match InstructionSet::current() {
        InstructionSet::Base => "no vector units beyond the base set",
        InstructionSet::Avx2 => "AVX2",
        InstructionSet::Avx512 => "AVX-512",
    };
    let (processor, filter) = (machine::processor(), Filter::current());
    let line = Line::ok(
        "CPU",
        format!(
            "{processor} for this process, {threads} threads; the operators use {set}; filter of products: {filter}"
        ),
    );
    match threads > cores {
        true => line.but(
            State::Warning,
            format!(
                "more threads than cores slow each other: use --threads {cores} or RAYON_NUM_THREADS={cores}"
            ),
        ),
        false => line,
    }
}
