//! `--profile` of the commands that have it.

use std::path::Path;

use anyhow::Result;
use candle_core::Device;

use crate::{
    profile::{self, Recording, Summary},
    report::profiled,
};

/// Options of a command that can be profiled.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Profiling {
    /// Record where the time goes: writes a trace, timeline and summary into `profile` in the run's folder
    #[arg(long, help_heading = "Profiling")]
    profile: bool,
}

impl Profiling {
    /// Starts a recording if the option is set.
    ///
    /// # Errors
    /// Returns the device's errors.
    pub fn start(&self, device: &Device) -> Result<Option<Recording>> {
        self.profile.then(|| profile::start(device)).transpose()
    }
}

/// Stops a recording, writes its files into `folder` and prints the summary to standard error.
///
/// # Errors
/// Returns the device's errors, and an error if a file cannot be written.
pub fn finish(recording: Option<Recording>, folder: &Path, name: &str) -> Result<()> {
    let Some(recording) = recording else {
        return Ok(());
    };
    let timeline = profile::stop(recording)?;
    profiled::write(folder, &timeline, name)?;
    note!("\n{}", Summary::of(&timeline).text(12));
    note!(
        "written: {}. trace.json opens in https://ui.perfetto.dev or https://www.speedscope.app",
        folder.display()
    );
    Ok(())
}
