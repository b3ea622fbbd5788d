//! Reading a file of any format, and describing it, from its header if that says enough.

use std::{
    fs::File,
    io::{Read, Seek},
    path::Path,
};

use anyhow::{Context, Result, ensure};

use super::{Format, Loaded, format::detect, las, text};
use crate::Cloud;

/// Reads the file at `path` in any format.
///
/// # Errors
/// Names the file and the place that could not be read, what was expected there and what was found.
pub fn load(path: &Path) -> Result<Loaded> {
    let attempt = || match open(path)? {
        (Format::Las | Format::Laz, file, len) => las::read(file, len),
        (Format::Text, file, _) => text::read(file),
    };
    attempt().with_context(|| path.display().to_string())
}

/// The format of a file, the file at its start, and its length.
fn open(path: &Path) -> Result<(Format, File, u64)> {
    let mut file = File::open(path).context("cannot open it")?;
    let meta = file.metadata()?;
    ensure!(!meta.is_dir(), "is a folder, expected a point cloud");
    let mut head = Vec::new();
    (&mut file)
        .take(1024)
        .read_to_end(&mut head)
        .context("cannot read it")?;
    file.rewind()?;
    Ok((detect(path, &head)?, file, meta.len()))
}

/// The points of the file at `path`, in any format.
///
/// # Errors
/// As [`load`].
pub fn read(path: &Path) -> Result<Cloud> {
    Ok(load(path)?.cloud)
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
    let (format, mut file, bytes) = open(path).with_context(named)?;
    let mut info = Info {
        format,
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
    let Loaded { cloud, warnings, .. } = load(path)?;
    let has = [
        (!cloud.intensity.is_empty(), "intensity"),
        (!cloud.class.is_empty(), "class"),
        (!cloud.returns.is_empty(), "returns"),
    ];
    Ok(Info {
        count: cloud.len() as u64,
        bounds: cloud.bounds(),
        attributes: has.iter().filter(|h| h.0).map(|h| h.1).collect(),
        warnings,
        ..info
    })
}
