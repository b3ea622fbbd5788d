//! What a file is, without its points where its header tells.

use std::{
    io::{Seek, SeekFrom},
    path::Path,
};

use anyhow::{Context, Result};

use super::{Format, las, open, reader::peek};

/// What [`info`] finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// The format.
    pub format: Format,
    /// The version of the format, where it has one.
    pub version: Option<String>,
    /// The point format of a LAS or LAZ file.
    pub point_format: Option<u8>,
    /// The file's length.
    pub bytes: u64,
    /// Number of points.
    pub count: u64,
    /// Least and greatest x, y and z, metres; none without points.
    pub bounds: Option<[[f64; 3]; 2]>,
    /// What points have beside x, y and z.
    pub attributes: Vec<&'static str>,
    /// The coordinate reference system: WKT or an EPSG code.
    pub crs: Option<String>,
}

/// Describes the file at `path`. Of LAS and LAZ only the header is read, other files are read through.
///
/// # Errors
/// Names the file and the place that could not be read.
pub fn info(path: &Path) -> Result<Info> {
    let named = || path.display().to_string();
    let (mut file, head, bytes) = peek(path).with_context(named)?;
    let format = Format::detect(path, &head).with_context(named)?;
    if matches!(format, Format::Las | Format::Laz) {
        file.seek(SeekFrom::Start(0)).with_context(named)?;
        let header = las::Header::read(&mut file, bytes).with_context(named)?;
        let r = &header.raw;
        return Ok(Info {
            format,
            version: Some(format!("{}.{}", r.version.major, r.version.minor)),
            point_format: Some(header.layout.format),
            bytes,
            count: header.count,
            bounds: (header.count > 0).then_some([[r.min_x, r.min_y, r.min_z], [r.max_x, r.max_y, r.max_z]]),
            attributes: vec!["intensity", "class", "returns"],
            crs: header.crs,
        });
    }
    let mut info = Info {
        format,
        version: None,
        point_format: None,
        bytes,
        count: 0,
        bounds: None,
        attributes: Vec::new(),
        crs: None,
    };
    for chunk in open(path)? {
        let chunk = chunk?;
        info.count += chunk.len() as u64;
        if let Some(b) = chunk.bounds() {
            let at = |p: [f32; 3]| [0, 1, 2].map(|a| f64::from(p[a]) + chunk.origin[a]);
            let [low, high] = info.bounds.get_or_insert([at(b.min), at(b.max)]);
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
        info.attributes = has.iter().filter(|h| h.0).map(|h| h.1).collect();
    }
    Ok(info)
}
