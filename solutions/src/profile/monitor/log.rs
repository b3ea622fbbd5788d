//! Samples in a CSV file that is complete after every sample.

use std::{
    fs::{File, OpenOptions},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::{Sample, Watch};

/// A CSV file of samples: a header, and a line per sample and device.
pub struct Log {
    path: PathBuf,
    file: File,
    header: bool,
}

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
        Ok(Self {
            path: path.to_owned(),
            file,
            header,
        })
    }

    /// Adds `samples` in one write, so that the file has whole lines whenever it is read or the program exits.
    ///
    /// # Errors
    /// Names the file.
    pub fn add(&mut self, samples: &[Sample]) -> Result<()> {
        let mut writer = csv::WriterBuilder::new()
            .has_headers(self.header)
            .from_writer(Vec::new());
        for sample in samples {
            writer.serialize(sample)?;
        }
        let text = writer.into_inner().map_err(|e| e.into_error())?;
        self.header &= samples.is_empty();
        let written = self.file.write_all(&text).and_then(|()| self.file.flush());
        written.with_context(|| format!("{} cannot be written to", self.path.display()))
    }

    /// Adds samples every `interval` on a thread of its own, until the handle is dropped.
    ///
    /// # Errors
    /// Returns an error if there is nothing to monitor, or if the thread cannot start.
    pub fn in_background(mut self, interval: Duration) -> Result<Background> {
        let mut watch = Watch::new()?;
        let (stop, stopped) = mpsc::channel::<()>();
        let sample = move || {
            let mut next = Instant::now();
            // The handle sends nothing: its end disconnects the channel.
            while stopped.recv_timeout(next.saturating_duration_since(Instant::now()))
                == Err(RecvTimeoutError::Timeout)
            {
                next = Instant::now() + interval;
                if let Err(e) = self.add(&watch.sample()) {
                    eprintln!("monitor: {e:#}; the log ends here");
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("monitor".into()).spawn(sample)?;
        Ok(Background(Some((stop, thread))))
    }
}

/// A log that is written during a run.
pub struct Background(Option<(Sender<()>, JoinHandle<()>)>);

impl Drop for Background {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
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
}
