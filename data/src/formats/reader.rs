//! Reading any file, whole or piece by piece.

use std::{
    fmt,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use super::{Format, append, las, ply, shard, text};
use crate::Cloud;

/// What to do with a point whose coordinates are not finite numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Invalid {
    /// The file is refused.
    #[default]
    Error,
    /// The point is left out, and counted: [`Reader::dropped`].
    Drop,
}

/// How to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// What to do with coordinates that are not finite numbers.
    pub invalid: Invalid,
    /// The most points that a piece holds.
    pub chunk: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            invalid: Invalid::Error,
            chunk: 1 << 20,
        }
    }
}

/// What reads one format. Errors say where in the file; the reader adds which.
pub(super) trait Source: Send {
    /// Adds at most `max` points to `out`, and sets its origin, the same each time. Gives the number of points that
    /// were taken from the file, dropped ones too; 0 at its end.
    fn fill(&mut self, out: &mut Cloud, max: usize) -> Result<usize>;

    /// How many points were dropped.
    fn dropped(&self) -> u64 {
        0
    }
}

/// A file being read: an iterator over clouds of at most [`ReadOptions::chunk`] points, in the file's order.
///
/// All have one origin and the same attributes. After an error it ends.
pub struct Reader {
    path: PathBuf,
    format: Format,
    count: Option<u64>,
    chunk: usize,
    source: Box<dyn Source>,
    ended: bool,
}

impl Reader {
    /// The file's format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How many points the file says it has; none for text without a count line. A claim: what comes may be less, and
    /// then ends in an error, so let no allocation rest on it.
    pub fn count(&self) -> Option<u64> {
        self.count
    }

    /// How many points were dropped so far: see [`Invalid::Drop`].
    pub fn dropped(&self) -> u64 {
        self.source.dropped()
    }

    /// Reads what is left, as one cloud.
    ///
    /// # Errors
    /// Names the file and the place that could not be read.
    pub fn read_all(mut self) -> Result<Cloud> {
        let mut cloud = Cloud::default();
        while self.fill(&mut cloud, usize::MAX)? > 0 {}
        Ok(cloud)
    }

    fn fill(&mut self, out: &mut Cloud, max: usize) -> Result<usize> {
        self.source
            .fill(out, max)
            .with_context(|| self.path.display().to_string())
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("path", &self.path)
            .field("format", &self.format)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl Iterator for Reader {
    type Item = Result<Cloud>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let mut cloud = Cloud::default();
            match self.fill(&mut cloud, self.chunk) {
                Ok(0) => self.ended = true,
                // All of them were dropped.
                Ok(_) if cloud.is_empty() => {}
                Ok(_) => return Some(Ok(cloud)),
                Err(e) => {
                    self.ended = true;
                    return Some(Err(e));
                }
            }
        }
        None
    }
}

/// Opens the file at `path` to read it piece by piece.
///
/// # Errors
/// Where it cannot be opened, or its header is damaged; names the file and the place.
pub fn open(path: &Path) -> Result<Reader> {
    open_with(path, &ReadOptions::default())
}

/// [`open`], told how.
///
/// # Errors
/// As [`open`].
pub fn open_with(path: &Path, options: &ReadOptions) -> Result<Reader> {
    ensure!(options.chunk > 0, "a piece of 0 points: ask for at least 1");
    let named = || path.display().to_string();
    let (mut file, head, len) = peek(path).with_context(named)?;
    let format = Format::detect(path, &head).with_context(named)?;
    file.seek(SeekFrom::Start(0)).with_context(named)?;
    let (count, source): (Option<u64>, Box<dyn Source>) = match format {
        Format::Las | Format::Laz => las::open(file, len).with_context(named)?,
        Format::Ply => ply::open(file, len, options.invalid).with_context(named)?,
        Format::Text => text::open(file, options.invalid).with_context(named)?,
        // Names the file itself.
        Format::Shard => shard::open(path)?,
    };
    Ok(Reader {
        path: path.to_owned(),
        format,
        count,
        chunk: options.chunk,
        source,
        ended: false,
    })
}

/// The file, its first bytes, and its length.
pub(super) fn peek(path: &Path) -> Result<(File, Vec<u8>, u64)> {
    let mut file = File::open(path).context("cannot open it")?;
    let meta = file.metadata()?;
    ensure!(!meta.is_dir(), "is a folder, where a point cloud was expected");
    let mut head = Vec::new();
    (&mut file)
        .take(1024)
        .read_to_end(&mut head)
        .context("cannot read it")?;
    Ok((file, head, meta.len()))
}

/// Reads the file at `path`, in whatever format.
///
/// # Errors
/// Names the file and the place that could not be read, what was expected there and what came.
pub fn read(path: &Path) -> Result<Cloud> {
    open(path)?.read_all()
}

/// [`read`], told how; with the number of points that were dropped.
///
/// # Errors
/// As [`read`].
pub fn read_with(path: &Path, options: &ReadOptions) -> Result<(Cloud, u64)> {
    let mut reader = open_with(path, options)?;
    let mut cloud = Cloud::default();
    for chunk in &mut reader {
        append(&mut cloud, chunk?);
    }
    Ok((cloud, reader.dropped()))
}
