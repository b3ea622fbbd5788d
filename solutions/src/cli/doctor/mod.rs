//! `canopy doctor`: what `nvidia-smi`, CUDA and Slurm say of this machine, and what to do about it.

mod gpu;
mod slurm;

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;

use crate::{
    kernels::{Bf16Unit, Filter, InstructionSet},
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

    fn warning(name: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            state: State::Warning,
            advice: Some(advice.into()),
            ..Self::ok(name, found)
        }
    }

    fn wrong(name: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            state: State::Wrong,
            ..Self::warning(name, found, advice)
        }
    }
}

#[derive(Debug, Serialize)]
struct Report {
    wrong: usize,
    warnings: usize,
    lines: Vec<Line>,
}

/// Examines the machine and prints a line for each thing.
///
/// # Errors
/// Returns an error if the report cannot be printed.
pub fn run(args: &Args) -> Result<ExitCode> {
    let report = examine();
    if args.json {
        say!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        for line in &report.lines {
            say!("{}", text(line));
        }
        say!("\n{}", verdict(&report));
    }
    Ok(match report.wrong {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn examine() -> Report {
    let mut lines = gpu::lines();
    lines.push(cpu());
    lines.push(slurm::line(&|name| std::env::var(name).ok()));
    let count = |state| lines.iter().filter(|l| l.state == state).count();
    Report {
        wrong: count(State::Wrong),
        warnings: count(State::Warning),
        lines,
    }
}

/// The cores, and the units of the CPU that canopy's operators use.
fn cpu() -> Line {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = rayon::current_num_threads();
    let set = match InstructionSet::current() {
        InstructionSet::Base => "no vector units beyond the base set",
        InstructionSet::Avx2 => "AVX2",
        InstructionSet::Avx512 => "AVX-512",
    };
    let bf16 = match Bf16Unit::current() {
        Bf16Unit::Off => "emulated".to_owned(),
        unit => unit.to_string(),
    };
    let found = format!(
        "{} for this process, {threads} threads; the operators use {set}; filter of products: {}; bf16: {bf16}",
        machine::processor(),
        Filter::current()
    );
    match threads > cores {
        true => Line::warning(
            "CPU",
            found,
            format!(
                "more threads than cores slow each other: use --threads {cores} or RAYON_NUM_THREADS={cores}"
            ),
        ),
        false => Line::ok("CPU", found),
    }
}

/// Columns of a line: state, name, text.
const INDENT: usize = 8 + 13;

/// A line in at most 80 columns, with what to do below it.
fn text(line: &Line) -> String {
    let state = match line.state {
        State::Ok => "ok",
        State::Warning => "warning",
        State::Wrong => "WRONG",
    };
    let mut out = format!("{state:<7} {:<12} ", line.name);
    out.push_str(&wrapped(&line.found));
    if let Some(advice) = &line.advice {
        let pad = " ".repeat(INDENT);
        out.push_str(&format!("\n{pad}{}", wrapped(&format!("→ {advice}"))));
    }
    out
}

/// `words` in lines that fit beside the first two columns.
fn wrapped(words: &str) -> String {
    let mut lines = vec![String::new()];
    for word in words.split_whitespace() {
        let last = lines.last_mut().expect("there is a first line");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > 80 - INDENT {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines.join(&format!("\n{}", " ".repeat(INDENT)))
}

fn verdict(report: &Report) -> String {
    let wrong = match report.wrong {
        0 => "Nothing is wrong".into(),
        1 => "1 thing is wrong".into(),
        n => format!("{n} things are wrong"),
    };
    format!("{wrong}. Warnings: {}.", report.warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_in_80_columns_and_say_what_to_do() {
        let line = Line::wrong("driver", "word ".repeat(40), "act ".repeat(40));
        let text = text(&line);
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        assert_eq!(text.matches("word").count(), 40);
        assert_eq!(text.matches("act").count(), 40);
        assert!(text.starts_with("WRONG   driver "), "{text}");
    }
}
