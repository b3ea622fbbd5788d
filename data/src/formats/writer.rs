//! Writing a file of any format: under a temporary name until it is complete.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use tempfile::TempPath;

use super::{
    Format, Reader, las, rows,
    stream::{Grid, Sink},
};
use crate::{Cloud, atomic};

/// How to write.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// The format; `None`: the one that the file name's extension says.
    pub format: Option<Format>,
    /// Step of the coordinates in LAS and LAZ, metres; `None`: that of `grid`, or 0.001 without one.
    pub resolution: Option<f64>,
    /// The grid of the file that the points come from, for LAS and LAZ.
    pub grid: Option<Grid>,
}

impl Options {
    /// The grid for a file whose first cloud has `origin`: the source's if it has one and no step was given.
    fn grid_for(&self, origin: [f64; 3]) -> Grid {
        let Some(grid) = self.grid.filter(|_| self.resolution.is_none()) else {
            let scale = [self.resolution.unwrap_or(0.001); 3];
            return Grid {
                scale,
                offset: origin,
            };
        };
        // Well within the range of 32-bit integers.
        let reaches = |a: usize| ((origin[a] - grid.offset[a]) / grid.scale[a]).abs() < 2e9;
        match (0..3).all(reaches) {
            true => grid,
            false => Grid {
                offset: origin,
                ..grid
            },
        }
    }
}

/// Writes a file, which gets its name in [`Writer::finish`]. An older file of that name is kept until then, and a writer
/// that is dropped leaves no file.
pub struct Writer {
    path: PathBuf,
    format: Format,
    options: Options,
    temp: TempPath,
    /// Created with the first cloud, because the header needs its origin and attributes.
    sink: Option<Box<dyn Sink>>,
    points: u64,
}

impl Writer {
    /// Begins the file `path`.
    ///
    /// # Errors
    /// Returns an error if the name's extension is of no known format, or the folder is not writable.
    pub fn create(path: &Path, options: &Options) -> Result<Self> {
        let at = path.display();
        let known = || Vec::from_iter(Format::ALL.iter().flat_map(|f| f.extensions()));
        let format = options.format.or_else(|| Format::from_path(path));
        let format = format.with_context(|| {
            format!(
                "{at}: no format has this extension; expected one of {:?}",
                known()
            )
        })?;
        if let Some(r) = options.resolution {
            let positive = r.is_finite() && r > 0.0;
            ensure!(positive, "a resolution of {r} m: expected a length above 0");
        }
        let temp = atomic::beside(path)
            .with_context(|| format!("{at}: cannot write in its folder"))?
            .into_temp_path();
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
    /// Returns an error if the cloud is not valid, does not fit the format, or cannot be written.
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
        self.sink.as_mut().context("no file")?.write(cloud)?;
        self.points += cloud.len() as u64;
        Ok(())
    }

    fn begin(&self, first: &Cloud) -> Result<Box<dyn Sink>> {
        let file = File::options().write(true).open(&self.temp)?;
        if self.format == Format::Text {
            let extension = self.path.extension();
            let is_csv = extension.is_some_and(|e| e.eq_ignore_ascii_case("csv"));
            return Ok(Box::new(rows::Sink::new(file, first, is_csv)?));
        }
        let (grid, pack) = (self.options.grid_for(first.origin), self.format == Format::Laz);
        Ok(Box::new(las::Sink::new(file, grid, pack)?))
    }

    /// Completes the file and renames it. Returns how many points it has.
    ///
    /// # Errors
    /// Returns an error if it cannot be written; an older file of this name is then unchanged.
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

/// Writes `cloud` to `path`, in the format of the options or of the name's extension.
///
/// # Errors
/// Names the file and what could not be written; an older file of this name is then unchanged.
pub fn write(path: &Path, cloud: &Cloud, options: &Options) -> Result<()> {
    let mut writer = Writer::create(path, options)?;
    writer.write(cloud)?;
    writer.finish()?;
    Ok(())
}

/// Writes the points of `reader` to `to` in pieces, on the source's grid unless the options give a resolution. `progress`
/// is called with the number of points after each piece. Returns how many points there were.
///
/// # Errors
/// Names the file that could not be read or written; returns the error of `progress`.
pub fn convert(
    reader: &mut Reader,
    to: &Path,
    options: &Options,
    progress: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<u64> {
    let grid = options.grid.or(reader.grid());
    let mut writer = Writer::create(to, &Options { grid, ..*options })?;
    for chunk in reader {
        writer.write(&chunk?)?;
        progress(writer.points)?;
    }
    writer.finish()
}
