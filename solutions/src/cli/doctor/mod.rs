//! `canopy doctor`: what of this machine canopy can use, and what stands in its way.

mod cards;
mod cpu;
mod driver;
mod libraries;
mod program;
mod scratch;
mod slurm;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use serde::Serialize;

/// Options of `canopy doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each line is ok, a warning (it works, but something is lost) or wrong, with what to do.

Examples:
  canopy doctor                       examine this machine
  canopy doctor --scratch /local/me   measure another folder for temporary files
  canopy doctor --json                the same for a script
  srun --gres=gpu:1 canopy doctor     examine what a job gets

Exit codes: 0 if nothing is wrong (warnings do not count), 1 if something is.")]
pub struct Args {
    /// Folder for temporary files whose speed is measured [default: that of TMPDIR]
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
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
    let report = examine(args);
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

fn examine(args: &Args) -> Report {
    let program = program::built();
    let driver = driver::Driver::open();
    let mut lines = vec![
        program::line(program.as_ref()),
        driver::line(&driver, program.as_ref()),
    ];
    lines.extend(cards::lines(driver.as_ref().ok(), program.as_ref()));
    let has_card = driver.is_ok_and(|d| !d.devices.is_empty());
    lines.extend(libraries::lines(program.is_some() && has_card));
    lines.extend(cpu::lines());
    lines.extend(scratch::lines(args.scratch.as_deref()));
    lines.push(slurm::line(&|name| std::env::var(name).ok()));
    let count = |state| lines.iter().filter(|l| l.state == state).count();
    Report {
        wrong: count(State::Wrong),
        warnings: count(State::Warning),
        lines,
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
    let s = |n| if n == 1 { "" } else { "s" };
    let warnings = format!("{} warning{}", report.warnings, s(report.warnings));
    match (report.wrong, report.warnings) {
        (0, 0) => "Nothing is wrong.".into(),
        (0, _) => format!("Nothing is wrong; {warnings}."),
        (n, _) => format!(
            "{n} thing{} wrong, {warnings}. Each line marked WRONG says what to do.",
            if n == 1 { " is" } else { "s are" }
        ),
    }
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
