//! `--profile` of the commands that have it.

use std::path::Path;

use anyhow::Result;
use candle_core::Device;

use crate::{
    profile::{self, Ranges, Recording, Summary},
    report::profiled,
};

/// Options of a command that can be profiled.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Profiling {
    /// Record where the time goes: trace, flame graph, timeline and summary into the run's folder, under `profile`
    #[arg(long, help_heading = "Profiling")]
    profile: bool,
    /// Give each span to nsys as an NVTX range as well
    #[arg(long, requires = "profile", help_heading = "Profiling")]
    nvtx: bool,
}

impl Profiling {
    /// Begins to record, if that was asked for.
    ///
    /// # Errors
    /// The device's.
    pub fn start(&self, device: &Device) -> Result<Option<Recording>> {
        if !self.profile {
            return Ok(None);
        }
        let mut options = profile::Options::of(device);
        if self.nvtx {
            match Ranges::open() {
                Ok(ranges) => options.ranges = Some(ranges),
                Err(e) => eprintln!("no NVTX ranges: {e:#}"),
            }
        }
        profile::start(options).map(Some)
    }
}

/// Ends a recording, writes its files into `folder` and tells the summary on standard error.
///
/// # Errors
/// The device's; a file that cannot be written.
pub fn finish(recording: Option<Recording>, folder: &Path, name: &str) -> Result<()> {
    let Some(recording) = recording else {
        return Ok(());
    };
    let timeline = profile::stop(recording)?;
    profiled::write(folder, &timeline, name)?;
    eprintln!("\n{}", Summary::of(&timeline).text(12));
    eprintln!(
        "written: {}. trace.json opens in https://ui.perfetto.dev, speedscope.json in https://www.speedscope.app",
        folder.display()
    );
    Ok(())
}
