//! `canopy monitor`.

use std::{
    collections::VecDeque,
    io::{IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};

use super::stop;
use crate::profile::monitor::{Log, Sample, Watch, lines, pause};

/// Options of `canopy monitor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
On a terminal it shows a live screen; otherwise, or with --json, it prints a line per sample and device. Ctrl-C ends it.

Examples:
  canopy monitor                                  show utilisation
  canopy monitor --out use.csv                    show it and write a log
  canopy monitor --interval 0.5 --count 20 --json twenty samples as JSON lines
  canopy train --monitor 1                        write a log into the run's folder")]
pub struct Args {
    /// Sampling interval in seconds
    #[arg(long, default_value_t = 1.0, value_name = "S")]
    interval: f64,
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
    let interval = interval(args.interval)?;
    let stop = stop::quiet_flag()?;
    let mut log = args.out.as_deref().map(|p| Log::open(p, false)).transpose()?;
    let mut watch = Watch::new()?;
    if let Some(reason) = &watch.no_gpu {
        eprintln!("no GPU: {reason}; monitoring the CPU");
    }
    let live = !args.json && std::io::stdout().is_terminal();
    let mut screen = Screen::default();
    let mut header = true;
    let mut taken = 0;
    // CPU utilisation is over the time since the sample before, so the first sample needs some time.
    pause(Instant::now() + interval.min(Duration::from_millis(100)), &stop);
    while !stop.load(Ordering::Relaxed) && args.count.is_none_or(|n| taken < n) {
        let next = Instant::now() + interval;
        let samples = watch.sample();
        if let Some(log) = &mut log {
            log.add(&samples)?;
        }
        if args.json {
            for sample in &samples {
                say!("{}", serde_json::to_string(sample)?);
            }
        } else if live {
            screen.show(&samples)?;
        } else if log.is_none() {
            say!(
                "{}",
                String::from_utf8_lossy(&lines(&samples, header)?).trim_end()
            );
            header = false;
        }
        taken += 1;
        if args.count != Some(taken) {
            pause(next, &stop);
        }
    }
    if let Some(path) = &args.out {
        eprintln!("{taken} samples written to {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// A sampling interval of this many seconds.
///
/// # Errors
/// Returns an error if it is out of range, or NaN.
pub fn interval(seconds: f64) -> Result<Duration> {
    ensure!(
        (0.01..=86_400.0).contains(&seconds),
        "an interval of {seconds} s is out of range: choose 0.01 to 86400"
    );
    Ok(Duration::from_secs_f64(seconds))
}

/// The live screen: for each device a line of values, and its utilisation over the last samples.
#[derive(Default)]
struct Screen {
    past: Vec<VecDeque<f64>>,
    drawn: usize,
}

/// Samples that are shown.
const WIDTH: usize = 60;

impl Screen {
    fn show(&mut self, samples: &[Sample]) -> Result<()> {
        self.past.resize(samples.len(), VecDeque::new());
        let mut text = String::new();
        if self.drawn > 0 {
            text += &format!("\x1b[{}A", self.drawn);
        }
        self.drawn = 0;
        for (sample, past) in samples.iter().zip(&mut self.past) {
            past.push_back(sample.use_percent.unwrap_or(0.0));
            if past.len() > WIDTH {
                past.pop_front();
            }
            for line in [title(sample), figures(sample), format!("  {}", bars_of(past))] {
                text += &format!("\x1b[2K{line}\n");
                self.drawn += 1;
            }
        }
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }
}

fn title(s: &Sample) -> String {
    let name: String = s.name.chars().take(50).collect();
    format!("{}  {name}  {}", s.bus_id, s.timestamp)
}

fn figures(s: &Sample) -> String {
    let mut parts = Vec::new();
    parts.push(
        s.use_percent
            .map_or("use unknown".into(), |u| format!("use {u:>5.1} %")),
    );
    if let (Some(used), Some(total)) = (s.memory_used_mib, s.memory_total_mib) {
        parts.push(format!("memory {used:.0} of {total:.0} MiB"));
    }
    let units = [
        (s.power_w, "W"),
        (s.clock_mhz, "MHz"),
        (s.memory_clock_mhz, "MHz memory"),
        (s.temperature_c, "°C"),
    ];
    parts.extend(
        units
            .iter()
            .filter_map(|(v, unit)| v.map(|v| format!("{v:.0} {unit}"))),
    );
    format!("  {}", parts.join(" · "))
}

/// Utilisation as a row of bars.
fn bars_of(past: &VecDeque<f64>) -> String {
    let bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |u: &f64| bars[((u / 100.0 * 8.0) as usize).min(7)];
    past.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_shows_the_values_that_a_device_reports() {
        let sample = Sample {
            bus_id: "cpu".into(),
            use_percent: Some(50.0),
            memory_used_mib: Some(100.0),
            memory_total_mib: Some(200.0),
            ..Sample::default()
        };
        assert_eq!(figures(&sample), "  use  50.0 % · memory 100 of 200 MiB");
        assert_eq!(figures(&Sample::default()), "  use unknown");
        assert_eq!(bars_of(&[0.0, 50.0, 100.0, 250.0].into()), "▁▅██");
    }

    #[test]
    fn intervals_out_of_range_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(interval(bad).is_err(), "{bad}");
        }
        assert_eq!(interval(0.5).unwrap(), Duration::from_millis(500));
    }
}
