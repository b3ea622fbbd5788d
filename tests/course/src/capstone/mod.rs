//! `cargo course capstone`: packs a submission to the budget race, and scores a class.

pub mod board;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;
use grader::paths::CAPSTONE;

use crate::{grade, marks::clean, pack};
pub use board::Board;
use board::Row;

#[derive(clap::Subcommand)]
pub enum Task {
    /// Write your submission to the race into race.tar.gz, the archive to hand in
    Submit,
    /// For instructors: train each submission in a sandbox, and score it on a site that nobody has seen
    Score(Options),
}

/// Options of `cargo course capstone score`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo course capstone score handed-in --out board\n  \
    cargo course capstone score handed-in --out board --seed 7402398814 --minutes 10\n\n\
    Each submission is trained for at most the budget of CPU time, one after the other.\n\n\
    Exit codes: 0 all have a score, 1 some have none, or scoring could not start."
)]
pub struct Options {
    /// Archives that `cargo course capstone submit` wrote, their folders, or folders of these
    #[arg(required = true)]
    pub submissions: Vec<PathBuf>,
    /// Folder for board.json, board.html and the models
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Seed of the hidden site; a large number that nobody can guess [default: random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Budget in minutes of CPU time, summed over all threads
    #[arg(long, default_value_t = 5.0, value_name = "M")]
    pub minutes: f64,
    /// Trees of the hidden site
    #[arg(long, default_value_t = 280, value_name = "N")]
    pub trees: u64,
    /// Trees of the training forest
    #[arg(long, default_value_t = 840, value_name = "N")]
    pub forest: u64,
}

/// Packs or scores.
pub fn run(root: &Path, task: Task) -> Result<ExitCode> {
    let options = match task {
        Task::Submit => {
            pack::pack(root, Path::new("race.tar.gz"), &[CAPSTONE])?;
            return Ok(ExitCode::SUCCESS);
        }
        Task::Score(options) => options,
    };
    let board = grade::score(root, &options)?;
    board.write(&options.out)?;
    for Row { submission, .. } in &board.rows {
        let place = board.line(submission).map(|line| format!("{submission}: {line}"));
        println!(
            "{}",
            clean::cut(&place.unwrap_or_else(|why| why.to_string()), 160)
        );
    }
    println!("\n{}", options.out.join("board.html").display());
    let all = board.rows.iter().all(|row| row.score.is_some());
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
