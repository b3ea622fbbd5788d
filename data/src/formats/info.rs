//! What a file contains, from its header if that says enough.

use std::{
    io::{Seek, SeekFrom},
    path::Path,
};

use anyhow::{Context, Result};

use super::{Format, las, open, reader::peek};
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
    let format = Format::detect(path, &head).with_context(named)?;
    let mut info = Info {
        format,
        version: None,
        point_format: None,
        bytes,
        count: 0,
        bounds: None,
        attributes: Vec::new(),
        crs: None,
        decoded: true,
    };
    if matches!(format, Format::Las | Format::Laz) {
        file.seek(SeekFrom::Start(0)).with_context(named)?;
        let header = las::Header::read(&mut file, bytes).with_context(named)?;
        let r = &header.raw;
        info.version = Some(format!("{}.{}", r.version.major, r.version.minor));
        info.point_format = Some(header.layout.number);
        info.crs = header.crs;
        if !decode {
            info.count = header.count;
            info.bounds =
                (header.count > 0).then_some([[r.min_x, r.min_y, r.min_z], [r.max_x, r.max_y, r.max_z]]);
            info.attributes = vec!["intensity", "class", "returns"];
            info.decoded = false;
            return Ok(info);
        }
    }
    for chunk in open(path)? {
        info.add(&chunk?);
    }
    Ok(info)
}

impl Info {
    fn add(&mut self, chunk: &Cloud) {
        self.count += chunk.len() as u64;
        if let Some(b) = chunk.bounds() {
            let at = |p: [f32; 3]| [0, 1, 2].map(|a| f64::from(p[a]) + chunk.origin[a]);
            let [low, high] = self.bounds.get_or_insert([at(b.min), at(b.max)]);
            for a in 0..3 {
                low[a] = low[a].min(at(b.min)[a]);
                high[a] = high[a].max(at(b.max)[a]);
            }
        }
        let has = [
            (!chunk.intensity.is_empty(), "intensity"),
            (!chunk.class.is_empty(), "class"),
            (!chunk.returns.is_empty(), "returns"),
        ];
        self.attributes = has.iter().filter(|h| h.0).map(|h| h.1).collect();
    }
}
