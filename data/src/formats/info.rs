//! What a file contains, from its header if that says enough.

use std::path::Path;

use anyhow::{Context, Result};

use super::{Format, format::detect, las, open, reader::peek};
use crate::Cloud;

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
    /// The coordinate reference system: WKT or an EPSG code.
    pub crs: Option<String>,
    /// What the header of a LAS or LAZ file says that its length or its points contradict.
    pub warnings: Vec<String>,
    /// Whether the points were decoded. If not, everything above is only what the header claims.
    pub decoded: bool,
}

/// Describes the file at `path`. Only the header of LAS and LAZ files is read; other files are decoded.
///
/// # Errors
/// Names the file and the place that could not be read.
pub fn info(path: &Path) -> Result<Info> {
    describe(path, false)
}

/// Describes the file at `path` and decodes all its points.
///
/// # Errors
/// Names the file and the place that could not be read.
pub fn check(path: &Path) -> Result<Info> {
    describe(path, true)
}

fn describe(path: &Path, decode: bool) -> Result<Info> {
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
        crs: None,
        warnings: Vec::new(),
        decoded: true,
    };
    if matches!(info.format, Format::Las | Format::Laz) {
        let header = las::Header::read(&mut file, bytes).with_context(named)?;
        let version = header.raw.version;
        info.version = Some(format!("{}.{}", version.major, version.minor));
        info.point_format = Some(header.number);
        info.crs.clone_from(&header.crs);
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
