//! `canopy monitor`.

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use anyhow::Result;

use super::{options::number, stop};
use crate::profile::monitor::{Log, Sample, Watch, pause};

/// Options of `canopy monitor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It prints a line per sample and device. Ctrl-C ends it.

Examples:
  canopy monitor                                  show utilisation
  canopy monitor --out use.csv                    show it and write a log
  canopy monitor --interval 0.5 --count 20 --json twenty samples as JSON lines
  canopy train --monitor 1                        write a log into the run's folder")]
pub struct Args {
    /// Sampling interval in seconds
    #[arg(long, default_value = "1", value_parser = interval, value_name = "S")]
    interval: Duration,
    /// Exit after this many samples; otherwise at Ctrl-C
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Write a log to this CSV file, which must not exist
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON lines
    #[arg(long)]
    json: bool,
}

/// Takes samples until Ctrl-C.
///
/// # Errors
/// Returns an error if there is nothing to monitor, or if the log cannot be written.
pub fn run(args: &Args) -> Result<ExitCode> {
    let stop = stop::quiet_flag()?;
    let mut log = args.out.as_deref().map(|p| Log::open(p, false)).transpose()?;
    let mut watch = Watch::new()?;
    if let Some(reason) = &watch.no_gpu {
        note!("no GPU: {reason}; monitoring the CPU");
    }
    let mut taken = 0;
    // CPU utilisation is over the time since the sample before, so the first sample needs some time.
    pause(
        Instant::now() + args.interval.min(Duration::from_millis(100)),
        &stop,
    );
    while !stop.load(Ordering::Relaxed) && args.count.is_none_or(|n| taken < n) {
        let next = Instant::now() + args.interval;
        let samples = watch.sample();
        if let Some(log) = &mut log {
            log.add(&samples)?;
        }
        for sample in &samples {
            if args.json {
                say!("{}", serde_json::to_string(sample)?);
            } else {
                say!("{}  {:<12}  {}", sample.timestamp, sample.bus_id, values(sample));
            }
        }
        taken += 1;
        if args.count != Some(taken) {
            pause(next, &stop);
        }
    }
    if let Some(path) = &args.out {
        note!("{taken} samples written to {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Parses a sampling interval in seconds.
pub fn interval(text: &str) -> Result<Duration, String> {
    number(0.01, 86_400.0)(text).map(Duration::from_secs_f64)
}

/// The values that a device reports.
fn values(sample: &Sample) -> String {
    let all = [
        (sample.use_percent, "% busy"),
        (sample.memory_used_mib, "MiB used"),
        (sample.memory_total_mib, "MiB in all"),
        (sample.power_w, "W"),
        (sample.clock_mhz, "MHz"),
        (sample.memory_clock_mhz, "MHz memory"),
        (sample.temperature_c, "°C"),
    ];
    let known = all
        .iter()
        .filter_map(|(value, unit)| Some(format!("{:.0} {unit}", (*value)?)));
    known.collect::<Vec<_>>().join(" · ")
}
