//! Writing any file: beside its name first, and under it only when whole.

use std::{
    fmt,
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use tempfile::NamedTempFile;

use super::{Format, las, open, ply, text};
use crate::{Cloud, shard::ShardWriter};

/// How to write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The format; where none is given, the one that the name stands for.
    pub format: Option<Format>,
    /// Step of the coordinates in LAS and LAZ, in metres.
    pub resolution: f64,
    /// Whether PLY is written as text.
    pub ascii: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: None,
            resolution: 0.001,
            ascii: false,
        }
    }
}

/// What writes one format.
pub(super) trait Sink: Send {
    /// Adds the points of `cloud`, which is valid and not empty.
    fn write(&mut self, cloud: &Cloud) -> Result<()>;

    /// Writes what can be written only at the end.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A file being written. It takes its name at [`Writer::finish`]: until then what stood there stays, and a writer that
/// is dropped leaves nothing behind.
pub struct Writer {
    path: PathBuf,
    format: Format,
    options: Options,
    temp: NamedTempFile,
    /// Begun with the first cloud, whose origin and attributes the header needs.
    sink: Option<Box<dyn Sink>>,
    points: u64,
}

impl Writer {
    /// Begins the file `path`.
    ///
    /// # Errors
    /// Where the name stands for no format, or the folder cannot be written in.
    pub fn create(path: &Path, options: &Options) -> Result<Self> {
        let format = options
            .format
            .or_else(|| Format::from_path(path))
            .with_context(|| {
                let known: Vec<_> = Format::ALL.iter().flat_map(|f| f.extensions()).collect();
                format!(
                    "{}: its name stands for no format that can be written; end it in one of {known:?}",
                    path.display()
                )
            })?;
        let r = options.resolution;
        ensure!(
            r.is_finite() && r > 0.0,
            "a resolution of {r} m: expected a length above 0"
        );
        let folder = match path.parent() {
            Some(p) if !p.as_os_str().is_empty() => p,
            _ => Path::new("."),
        };
        let temp =
            new_file(folder).with_context(|| format!("{}: cannot write in its folder", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            format,
            options: *options,
            temp,
            sink: None,
            points: 0,
        })
    }

    /// Adds the points of `cloud`. All clouds must have the attributes of the first.
    ///
    /// # Errors
    /// Where the cloud is not valid, does not fit the format, or the disk refuses it.
    pub fn write(&mut self, cloud: &Cloud) -> Result<()> {
        self.add(cloud)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }

    fn add(&mut self, cloud: &Cloud) -> Result<()> {
        cloud.validate()?;
        if cloud.is_empty() {
            return Ok(());
        }
        if self.sink.is_none() {
            self.sink = Some(self.begin(cloud)?);
        }
        if let Some(sink) = &mut self.sink {
            sink.write(cloud)?;
        }
        self.points += cloud.len() as u64;
        Ok(())
    }

    fn begin(&self, first: &Cloud) -> Result<Box<dyn Sink>> {
        let file = self.temp.as_file().try_clone()?;
        let csv = self
            .path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("csv"));
        Ok(match self.format {
            Format::Las => Box::new(las::Sink::new(file, first, &self.options, false)?),
            Format::Laz => Box::new(las::Sink::new(file, first, &self.options, true)?),
            Format::Ply => Box::new(ply::Sink::new(file, first, &self.options)?),
            Format::Text => Box::new(text::Sink::new(file, first, csv)?),
            Format::Shard => Box::new(Shards(ShardWriter::new(BufWriter::new(file))?)),
        })
    }

    /// Completes the file, and gives it its name; how many points it has.
    ///
    /// # Errors
    /// Where the disk refuses it; what stood under the name before is then untouched.
    pub fn finish(mut self) -> Result<u64> {
        let named = || format!("cannot write {}", self.path.display());
        let sink = match self.sink.take() {
            Some(sink) => sink,
            None => self.begin(&Cloud::default()).with_context(named)?,
        };
        sink.finish().with_context(named)?;
        self.temp.persist(&self.path).with_context(named)?;
        Ok(self.points)
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("path", &self.path)
            .field("format", &self.format)
            .field("points", &self.points)
            .finish_non_exhaustive()
    }
}

/// Writes coordinate `v` of a cloud with `origin` along that axis as text.
pub(super) fn write_coordinate(out: &mut impl Write, origin: f64, v: f32) -> std::io::Result<()> {
    if origin == 0.0 {
        // The shortest digits that come back as the same f32.
        write!(out, "{v}")
    } else {
        // To the micrometre, finer than an f32 far from its origin.
        write!(out, "{:.6}", origin + f64::from(v))
    }
}

/// A temporary file with the mode of an ordinary one: it becomes one.
fn new_file(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".canopy-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// A cloud or more as one shard.
struct Shards(ShardWriter<BufWriter<File>>);

impl Sink for Shards {
    fn write(&mut self, cloud: &Cloud) -> Result<()> {
        self.0.push(cloud)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.0.finish().map(drop)
    }
}

/// Writes `cloud` to `path`, in the format that the options or the name say.
///
/// # Errors
/// Names the file and what could not be written; what stood there before is then untouched.
pub fn write(path: &Path, cloud: &Cloud, options: &Options) -> Result<()> {
    let mut writer = Writer::create(path, options)?;
    writer.write(cloud)?;
    writer.finish()?;
    Ok(())
}

/// Writes the points of `from` to `to`, piece by piece; how many there were.
///
/// # Errors
/// Names the file that could not be read or written.
pub fn convert(from: &Path, to: &Path, options: &Options) -> Result<u64> {
    let mut writer = Writer::create(to, options)?;
    for chunk in open(from)? {
        writer.write(&chunk?)?;
    }
    writer.finish()
}
