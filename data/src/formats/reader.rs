//! Reading a file of any format, whole or in pieces.

use std::{
    fs::File,
    io::{Read, Seek},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use super::{
    Format,
    format::detect,
    las, ply,
    points::Invalid,
    stream::{Grid, Source},
    text,
};
use crate::Cloud;

/// An open file: an iterator over clouds of about a million points, in the file's order.
///
/// All clouds have the same origin and attributes. The iterator ends after an error.
pub struct Reader {
    path: PathBuf,
    source: Box<dyn Source>,
    ended: bool,
}

impl Reader {
    /// How many points the file claims to have; `None` for text without a count line. If it has fewer, reading ends in
    /// an error, so do not allocate memory for this number.
    pub fn count(&self) -> Option<u64> {
        self.source.count()
    }

    /// The integer grid of the coordinates, in LAS and LAZ files.
    pub fn grid(&self) -> Option<Grid> {
        self.source.grid()
    }

    /// How many points were dropped so far: see [`Invalid::Drop`].
    pub fn dropped(&self) -> u64 {
        self.source.dropped()
    }

    /// Reads the remaining points as one cloud.
    ///
    /// # Errors
    /// Names the file and the place that could not be read.
    pub fn read_all(&mut self) -> Result<Cloud> {
        let mut cloud = Cloud::default();
        for piece in self {
            cloud.append(piece?);
        }
        Ok(cloud)
    }

    /// What the header of a LAS or LAZ file says that its length or its points contradict. Complete at the end of the file.
    pub fn warnings(&self) -> Vec<String> {
        self.source.warnings()
    }
}

impl Iterator for Reader {
    type Item = Result<Cloud>;

    fn next(&mut self) -> Option<Result<Cloud>> {
        while !self.ended {
            match self.source.next() {
                // All points of this piece were dropped.
                Ok(Some(cloud)) if cloud.is_empty() => {}
                Ok(Some(cloud)) => return Some(Ok(cloud)),
                Ok(None) => self.ended = true,
                Err(e) => {
                    self.ended = true;
                    return Some(Err(e.context(self.path.display().to_string())));
                }
            }
        }
        None
    }
}

/// Opens the file at `path` to read it in pieces.
///
/// # Errors
/// Returns an error if the file cannot be opened or its header is damaged. Names the file and the place.
pub fn open(path: &Path) -> Result<Reader> {
    open_with(path, Invalid::Error)
}

/// As [`open`]; `invalid` says what to do with points whose coordinates are not finite.
///
/// # Errors
/// As [`open`].
pub fn open_with(path: &Path, invalid: Invalid) -> Result<Reader> {
    let named = || path.display().to_string();
    let (file, head, len) = peek(path).with_context(named)?;
    let source = match detect(path, &head).with_context(named)? {
        Format::Las | Format::Laz => las::open(file, len),
        Format::Ply => ply::open(file, invalid),
        Format::Text => text::open(file, invalid),
    };
    Ok(Reader {
        path: path.to_owned(),
        source: source.with_context(named)?,
        ended: false,
    })
}

/// Returns the file at its start, its first bytes, and its length.
pub(super) fn peek(path: &Path) -> Result<(File, Vec<u8>, u64)> {
    let mut file = File::open(path).context("cannot open it")?;
    let meta = file.metadata()?;
    ensure!(!meta.is_dir(), "is a folder, expected a point cloud");
    let mut head = Vec::new();
    (&mut file)
        .take(1024)
        .read_to_end(&mut head)
        .context("cannot read it")?;
    file.rewind()?;
    Ok((file, head, meta.len()))
}

/// Reads the file at `path` in any format.
///
/// # Errors
/// Names the file and the place that could not be read, what was expected there and what was found.
pub fn read(path: &Path) -> Result<Cloud> {
    open(path)?.read_all()
}
