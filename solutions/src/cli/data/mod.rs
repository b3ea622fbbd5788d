//! `canopy data`: data sets and point files, from the network to a page.

mod convert;
mod export;
mod fetch;
mod grow;
mod import;
mod info;
pub(super) mod open;
pub(super) mod progress;
mod sample;
mod split;
mod table;
mod view;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// What to do with data.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Read a data set as downloaded into shards that train fast
    Import(import::Args),
    /// Download a public data set, after showing its licence
    Fetch(fetch::Args),
    /// Tell what a file or a data set is
    Info(info::Args),
    /// Turn point files into another format, one or a folder of them
    Convert(convert::Args),
    /// Show how a data set would be split by plots
    Split(split::Args),
    /// Draw fewer points of a file
    Sample(sample::Args),
    /// Make a web page that shows clouds in 3D
    View(view::Args),
    /// Grow the built-in forest and write it out
    Grow(grow::Args),
}

/// Runs a data command.
///
/// # Errors
/// What went wrong, by file and place; nothing half-written is left under a final name.
pub fn run(command: DataCommand) -> Result<ExitCode> {
    let done = match command {
        DataCommand::Import(args) => import::run(&args),
        DataCommand::Fetch(args) => fetch::run(&args),
        DataCommand::Info(args) => info::run(&args),
        DataCommand::Convert(args) => convert::run(&args),
        DataCommand::Split(args) => split::run(&args),
        DataCommand::Sample(args) => sample::run(&args),
        DataCommand::View(args) => view::run(&args),
        DataCommand::Grow(args) => grow::run(&args),
    };
    done.map(|()| ExitCode::SUCCESS)
}
