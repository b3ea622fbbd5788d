//! Names and dtypes of the tensors of a shard file: see [`crate::shard`].

use std::ops::Range;

use safetensors::Dtype;

use crate::Cloud;

/// Name, dtype and bytes per point of the columns, in the order of [`parts`].
pub const COLUMNS: [(&str, Dtype, usize); 4] = [
    ("xyz", Dtype::F32, 12),
    ("intensity", Dtype::U16, 2),
    ("class", Dtype::U8, 1),
    ("returns", Dtype::U8, 2),
];
/// Tensors with a row per cloud.
pub const START: &str = "cloud_start";
pub const ORIGIN: &str = "cloud_origin";
pub const ATTRIBUTES: &str = "cloud_attributes";
pub const CRC32: &str = "cloud_crc32";
/// Key and value in the file's metadata, which say the version of this layout.
pub const VERSION: (&str, &str) = ("canopy", "clouds 1");

/// One cloud of a shard.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its points' rows in the columns.
    pub points: Range<usize>,
    /// Its origin, metres.
    pub origin: [f64; 3],
    /// What it has besides points: see [`attributes`].
    pub attributes: u8,
    /// CRC-32 of origin, attributes and columns.
    pub crc32: u32,
}

impl Entry {
    /// Whether the cloud has column `column` of [`COLUMNS`].
    pub fn has(&self, column: usize) -> bool {
        column == 0 || self.attributes >> (column - 1) & 1 == 1
    }
}

/// CRC-32 of a cloud, given the bytes of its columns.
pub fn checksum(origin: [f64; 3], attributes: u8, parts: [&[u8]; 4]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    origin.iter().for_each(|o| crc.update(&o.to_le_bytes()));
    crc.update(&[attributes]);
    parts.into_iter().for_each(|p| crc.update(p));
    crc.finalize()
}

/// The bytes of the columns of `cloud`; empty for those that it does not have.
pub fn parts(cloud: &Cloud) -> [&[u8]; 4] {
    [
        bytemuck::cast_slice(&cloud.xyz),
        bytemuck::cast_slice(&cloud.intensity),
        &cloud.class,
        bytemuck::cast_slice(&cloud.returns),
    ]
}

/// What `cloud` has besides its points: the sum of 1 (intensity), 2 (class) and 4 (returns).
pub fn attributes(cloud: &Cloud) -> u8 {
    u8::from(!cloud.intensity.is_empty())
        | u8::from(!cloud.class.is_empty()) << 1
        | u8::from(!cloud.returns.is_empty()) << 2
}

/// The shape of a column of `points` rows of `width` bytes.
pub fn shape(points: usize, dtype: Dtype, width: usize) -> Vec<usize> {
    match width * 8 / dtype.bitsize() {
        1 => vec![points],
        values => vec![points, values],
    }
}
