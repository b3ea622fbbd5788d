//! Writing a file of any format: under a temporary name until it is complete.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Format, Grid, las, rows};
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
    /// The grid for a cloud with `origin`: the source's if it has one and no step was given.
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

/// Writes `cloud` to `path`, in the format of the options or of the name's extension.
///
/// # Errors
/// Names the file and what could not be written; an older file of this name is then unchanged.
pub fn write(path: &Path, cloud: &Cloud, options: &Options) -> Result<()> {
    let (at, named) = (path.display(), || format!("cannot write {}", path.display()));
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
    cloud.validate().with_context(named)?;
    let temp = atomic::beside(path).with_context(|| format!("{at}: cannot write in its folder"))?;
    let file = temp.reopen().with_context(named)?;
    let written = match format {
        Format::Text => {
            let extension = path.extension();
            let is_csv = extension.is_some_and(|e| e.eq_ignore_ascii_case("csv"));
            rows::write(file, cloud, is_csv)
        }
        Format::Las | Format::Laz => {
            let grid = options.grid_for(cloud.origin);
            las::write(file, cloud, grid, format == Format::Laz)
        }
    };
    written.with_context(named)?;
    temp.persist(path).with_context(named)?;
    Ok(())
}
