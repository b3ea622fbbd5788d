//! `canopy data`: commands for data sets and point files.

mod convert;
mod export;
mod fetch;
mod grow;
mod import;
mod info;
pub(super) mod open;
pub(super) mod progress;
mod split;
mod view;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// The data commands.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Import a data set as downloaded into shards, which training reads fast
    Import(import::Args),
    /// Show the licence of a public data set and how to download it, and check its files
    Fetch(fetch::Args),
    /// Describe files and data sets
    Info(info::Args),
    /// Convert point files to another format
    Convert(convert::Args),
    /// Show the split of a data set by plots
    Split(split::Args),
    /// Write a web page that shows clouds in 3D
    View(view::Args),
    /// Generate the built-in forest and write it
    Grow(grow::Args),
}

/// Runs a data command. No incomplete file has its final name.
pub fn run(command: DataCommand) -> Result<ExitCode> {
    match command {
        DataCommand::Import(args) => import::run(&args),
        DataCommand::Fetch(args) => fetch::run(&args),
        DataCommand::Info(args) => info::run(&args),
        DataCommand::Convert(args) => convert::run(&args),
        DataCommand::Split(args) => split::run(&args),
        DataCommand::View(args) => view::run(&args),
        DataCommand::Grow(args) => grow::run(&args),
    }?;
    Ok(ExitCode::SUCCESS)
}
