//! Reading a file of any format, whole or in pieces, and describing it, from its header if that says enough.

use std::{
    fs::File,
    io::{Read, Seek},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use super::{
    Format,
    format::detect,
    las,
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
        if self.ended {
            return None;
        }
        let next = self
            .source
            .next()
            .with_context(|| self.path.display().to_string());
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

/// Opens the file at `path` to read it in pieces.
///
/// # Errors
/// Returns an error if the file cannot be opened or its header is damaged. Names the file and the place.
pub fn open(path: &Path) -> Result<Reader> {
    let named = || path.display().to_string();
    let (file, head, len) = peek(path).with_context(named)?;
    let source = match detect(path, &head).with_context(named)? {
        Format::Las | Format::Laz => las::open(file, len),
        Format::Text => text::open(file),
    };
    Ok(Reader {
        path: path.to_owned(),
        source: source.with_context(named)?,
        ended: false,
    })
}

/// Returns the file at its start, its first bytes, and its length.
fn peek(path: &Path) -> Result<(File, Vec<u8>, u64)> {
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

/// Description of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// The format.
    pub format: Format,
    /// The version of the format, if it has one.
    pub version: Option<String>,
    /// The point format of a LAS or LAZ file.
    pub point_format: Option<u8>,
    /// The file's length in bytes.
    pub bytes: u64,
    /// Number of points.
    pub count: u64,
    /// Least and greatest x, y and z, metres; `None` without points.
    pub bounds: Option<[[f64; 3]; 2]>,
    /// Attributes of the points besides x, y and z.
    pub attributes: Vec<&'static str>,
    /// What the header of a LAS or LAZ file says that its length or its points contradict.
    pub warnings: Vec<String>,
    /// Whether the points were decoded. If not, everything above is only what the header claims.
    pub decoded: bool,
}

/// Describes the file at `path`. Of LAS and LAZ files only the header is read, unless `decode` asks for their points; other files
/// are always decoded.
///
/// # Errors
/// Names the file and the place that could not be read.
pub fn info(path: &Path, decode: bool) -> Result<Info> {
    let named = || path.display().to_string();
    let (mut file, head, bytes) = peek(path).with_context(named)?;
    let mut info = Info {
        format: detect(path, &head).with_context(named)?,
        version: None,
        point_format: None,
        bytes,
        count: 0,
        bounds: None,
        attributes: Vec::new(),
        warnings: Vec::new(),
        decoded: true,
    };
    if matches!(info.format, Format::Las | Format::Laz) {
        let header = las::Header::read(&mut file, bytes).with_context(named)?;
        let version = header.raw.version;
        info.version = Some(format!("{}.{}", version.major, version.minor));
        info.point_format = Some(header.number);
        if !decode {
            info.count = header.count;
            info.bounds = (header.count > 0).then_some(header.bounds());
            info.warnings.extend(header.warning);
            info.attributes = vec!["intensity", "class", "returns"];
            info.decoded = false;
            return Ok(info);
        }
    }
    let mut reader = open(path)?;
    for chunk in &mut reader {
        info.add(&chunk?);
    }
    info.warnings = reader.warnings();
    Ok(info)
}

impl Info {
    fn add(&mut self, chunk: &Cloud) {
        self.count += chunk.len() as u64;
        chunk.extend_bounds(&mut self.bounds);
        let has = [
            (!chunk.intensity.is_empty(), "intensity"),
            (!chunk.class.is_empty(), "class"),
            (!chunk.returns.is_empty(), "returns"),
        ];
        self.attributes = has.iter().filter(|h| h.0).map(|h| h.1).collect();
    }
}
