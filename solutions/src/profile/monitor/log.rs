//! Samples in a CSV file that is complete after every sample.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::{Sample, Watch, pause};

/// A CSV file of samples: a header, and a line per sample and device.
pub struct Log(csv::Writer<File>, PathBuf);

impl Log {
    /// Creates a file; with `append` it adds to an existing one.
    ///
    /// # Errors
    /// Names the file if it exists already, or if it cannot be created.
    pub fn open(path: &Path, append: bool) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(append).create_new(!append);
        let file = match options.open(path) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                bail!(
                    "{} exists already: choose another file with --out",
                    path.display()
                )
            }
            other => other.with_context(|| format!("{} cannot be written to", path.display()))?,
        };
        let header = file.metadata().map_or(true, |m| m.len() == 0);
        let mut writer = csv::WriterBuilder::new();
        let writer = writer.has_headers(header).from_writer(file);
        Ok(Self(writer, path.to_owned()))
    }

    /// Adds `samples` and writes them out, so that the file has whole lines whenever it is read or the program exits.
    pub fn add(&mut self, samples: &[Sample]) -> Result<()> {
        let named = || format!("{} cannot be written to", self.1.display());
        for sample in samples {
            self.0.serialize(sample).with_context(named)?;
        }
        self.0.flush().with_context(named)
    }

    /// Adds samples every `interval` on a thread of its own, until the handle is dropped.
    ///
    /// # Errors
    /// Returns an error if there is nothing to monitor, or if the thread cannot start.
    pub fn in_background(mut self, interval: Duration) -> Result<Background> {
        let mut watch = Watch::new()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let sample = move || {
            while !stopped.load(Ordering::Relaxed) {
                let next = Instant::now() + interval;
                if let Err(e) = self.add(&watch.sample()) {
                    note!("monitor: {e:#}; the log ends here");
                    return;
                }
                pause(next, &stopped);
            }
        };
        let thread = thread::Builder::new().name("monitor".into()).spawn(sample)?;
        Ok(Background(stop, Some(thread)))
    }
}

/// The energy in a log, kWh: the power of each device times the time since its last sample. `None` if no device reports its power.
/// A last line that is not complete is left out.
///
/// # Errors
/// Names the file if it cannot be read.
pub fn kilowatt_hours(path: &Path) -> Result<Option<f64>> {
    let reader =
        csv::Reader::from_path(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let (mut last, mut energy) = (HashMap::new(), None);
    for sample in reader.into_deserialize::<Sample>().map_while(Result::ok) {
        if let Some(power) = sample.power_w {
            let before = last.insert(sample.bus_id, sample.seconds);
            // A log that is continued begins again at 0.
            let hours = (sample.seconds - before.unwrap_or(sample.seconds)).max(0.0) / 3600.0;
            *energy.get_or_insert(0.0) += hours * power / 1000.0;
        }
    }
    Ok(energy)
}

/// A log that is written during a run.
pub struct Background(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Drop for Background {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        if let Some(thread) = self.1.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_continued_has_one_header_and_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.csv");
        let sample = Sample {
            name: "a card, with a comma".into(),
            use_percent: Some(97.0),
            ..Sample::default()
        };
        let mut log = Log::open(&path, false).unwrap();
        log.add(&[sample.clone(), sample.clone()]).unwrap();
        log.add(&[]).unwrap();
        Log::open(&path, true)
            .unwrap()
            .add(std::slice::from_ref(&sample))
            .unwrap();
        let mut reader = csv::Reader::from_path(&path).unwrap();
        let rows: Vec<Sample> = reader.deserialize().map(Result::unwrap).collect();
        assert_eq!(rows, [sample.clone(), sample.clone(), sample]);
    }

    #[test]
    fn energy_is_power_times_time_over_the_devices_that_report_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.csv");
        let mut log = Log::open(&path, false).unwrap();
        assert_eq!(kilowatt_hours(&path).unwrap(), None);
        for seconds in [0.0, 1800.0, 3600.0] {
            let of = |bus_id: &str, power_w| Sample {
                bus_id: bus_id.into(),
                seconds,
                power_w,
                ..Sample::default()
            };
            log.add(&[
                of("a", Some(200.0)),
                of("b", Some(100.0 + seconds / 36.0)),
                of("cpu", None),
            ])
            .unwrap();
        }
        // As if the log was continued.
        let later = Sample {
            bus_id: "a".into(),
            power_w: Some(200.0),
            ..Sample::default()
        };
        log.add(&[later]).unwrap();
        // 200 W for an hour; 150 W and 200 W for half an hour each.
        assert!((kilowatt_hours(&path).unwrap().unwrap() - 0.375).abs() < 1e-12);
        assert!(kilowatt_hours(&dir.path().join("none")).is_err());
    }
}
