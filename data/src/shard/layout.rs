//! The bytes of a shard file, little endian throughout.
//!
//! ```text
//! 0        header, 64 bytes: magic, version, crc of the rest, number of clouds, place and crc of the table
//! 64       the clouds, each from a multiple of 64: xyz (f32 × 3 × n), then what it has of
//!          intensity (u16 × n), class (u8 × n), returns (2 × u8 × n)
//! table    64 bytes a cloud: offset, number of points, origin (f64 × 3), attribute flags, crc of its bytes
//! ```
//!
//! The table stands last so that a shard can be written as the clouds come; the multiple of 64 lets a mapped
//! file be used as `&[[f32; 3]]` without a copy.

use anyhow::{Result, bail, ensure};

use crate::Cloud;

/// The first bytes of a shard. The line end shows a file that was mangled as text on its way.
pub const MAGIC: [u8; 8] = *b"CANOPY\r\n";
/// The version of the layout that is written, and the only one that is read.
pub const VERSION: u32 = 1;
/// Size of the header, of a table entry, and what clouds are aligned to, in bytes.
pub const BLOCK: usize = 64;

const INTENSITY: u32 = 1;
const CLASS: u32 = 2;
const RETURNS: u32 = 4;

/// What the first 64 bytes of a shard say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// How many clouds there are.
    pub clouds: u64,
    /// Byte at which the table begins.
    pub table: u64,
    /// CRC-32 of the table.
    pub table_crc: u32,
}

impl Header {
    /// The header as bytes.
    pub fn encode(&self) -> [u8; BLOCK] {
        let mut b = [0; BLOCK];
        b[..8].copy_from_slice(&MAGIC);
        b[8..12].copy_from_slice(&VERSION.to_le_bytes());
        b[16..24].copy_from_slice(&self.clouds.to_le_bytes());
        b[24..32].copy_from_slice(&self.table.to_le_bytes());
        b[32..36].copy_from_slice(&self.table_crc.to_le_bytes());
        let crc = crc32fast::hash(&b[16..]);
        b[12..16].copy_from_slice(&crc.to_le_bytes());
        b
    }

    /// The header in the first bytes of `file`, held against its own checksum and the file's length.
    ///
    /// # Errors
    /// Says what was expected at which byte, and what came.
    pub fn decode(file: &[u8]) -> Result<Self> {
        ensure!(
            file.len() >= BLOCK,
            "expected a header of {BLOCK} bytes, found a file of {}: it is truncated",
            file.len()
        );
        let magic = &file[..8];
        ensure!(
            magic == MAGIC,
            "byte 0: expected {:?}, found {magic:?}: not a shard",
            MAGIC
        );
        let version = u32_at(file, 8);
        ensure!(
            version == VERSION,
            "byte 8: expected version {VERSION}, found {version}: written by another release; import the set again"
        );
        let (said, is) = (u32_at(file, 12), crc32fast::hash(&file[16..BLOCK]));
        ensure!(
            said == is,
            "byte 12: expected checksum {said:08x}, found {is:08x}: the header is damaged"
        );
        let h = Self {
            clouds: u64_at(file, 16),
            table: u64_at(file, 24),
            table_crc: u32_at(file, 32),
        };
        let end = h
            .clouds
            .checked_mul(BLOCK as u64)
            .and_then(|n| n.checked_add(h.table));
        ensure!(
            end == Some(file.len() as u64) && h.table >= BLOCK as u64,
            "expected a table of {} clouds from byte {} to the end, found a file of {} bytes: it is truncated or was never finished",
            h.clouds,
            h.table,
            file.len()
        );
        Ok(h)
    }
}

/// Where a cloud lies in its shard, and what it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Byte at which its points begin.
    pub offset: u64,
    /// Number of points.
    pub count: u64,
    /// The cloud's origin, metres.
    pub origin: [f64; 3],
    /// Which attributes follow the points.
    attributes: u32,
    /// CRC-32 of its bytes.
    pub crc: u32,
}

impl Entry {
    /// The entry of `cloud`, at `offset`.
    pub fn of(cloud: &Cloud, offset: u64) -> Self {
        let mut crc = crc32fast::Hasher::new();
        for part in parts(cloud) {
            crc.update(part);
        }
        Self {
            offset,
            count: cloud.len() as u64,
            origin: cloud.origin,
            attributes: attributes(cloud),
            crc: crc.finalize(),
        }
    }

    /// The entry as bytes.
    pub fn encode(&self) -> [u8; BLOCK] {
        let mut b = [0; BLOCK];
        b[..8].copy_from_slice(&self.offset.to_le_bytes());
        b[8..16].copy_from_slice(&self.count.to_le_bytes());
        for (a, o) in self.origin.iter().enumerate() {
            b[16 + 8 * a..24 + 8 * a].copy_from_slice(&o.to_le_bytes());
        }
        b[40..44].copy_from_slice(&self.attributes.to_le_bytes());
        b[44..48].copy_from_slice(&self.crc.to_le_bytes());
        b
    }

    /// The entry in `b`, held against the bytes `end` that the clouds may fill.
    ///
    /// # Errors
    /// Says what was expected and what came.
    pub fn decode(b: &[u8], end: u64) -> Result<Self> {
        let origin = [16, 24, 32].map(|at| f64::from_bits(u64_at(b, at)));
        let e = Self {
            offset: u64_at(b, 0),
            count: u64_at(b, 8),
            origin,
            attributes: u32_at(b, 40),
            crc: u32_at(b, 44),
        };
        ensure!(
            origin.iter().all(|o| o.is_finite()),
            "its origin {origin:?} is not a place"
        );
        ensure!(
            e.attributes < 8,
            "expected attribute flags below 8, found {}",
            e.attributes
        );
        ensure!(
            e.offset.is_multiple_of(BLOCK as u64),
            "expected an offset that is a multiple of {BLOCK}, found {}",
            e.offset
        );
        match e.size().and_then(|s| s.checked_add(e.offset)) {
            Some(last) if e.offset >= BLOCK as u64 && last <= end => Ok(e),
            _ => bail!(
                "{} points from byte {} do not fit before the table at byte {end}: the table is damaged",
                e.count,
                e.offset
            ),
        }
    }

    /// Whether it has intensity (0), class (1), returns (2).
    pub fn has(&self, attribute: usize) -> bool {
        self.attributes & [INTENSITY, CLASS, RETURNS][attribute] != 0
    }

    /// Bytes that the cloud takes.
    pub fn size(&self) -> Option<u64> {
        let a = u64::from(self.attributes & INTENSITY != 0) * 2
            + u64::from(self.attributes & CLASS != 0)
            + u64::from(self.attributes & RETURNS != 0) * 2;
        self.count.checked_mul(12 + a)
    }

    /// Takes `bytes`, the cloud's own, apart: points, intensity, class, returns.
    pub fn split<'a>(&self, bytes: &'a [u8]) -> [&'a [u8]; 4] {
        let n = self.count as usize;
        let (xyz, rest) = bytes.split_at(12 * n);
        let (intensity, rest) = rest.split_at(if self.attributes & INTENSITY != 0 {
            2 * n
        } else {
            0
        });
        let (class, returns) = rest.split_at(if self.attributes & CLASS != 0 { n } else { 0 });
        [xyz, intensity, class, returns]
    }
}

/// The bytes of `cloud` in the order of the layout.
pub fn parts(cloud: &Cloud) -> [&[u8]; 4] {
    [
        bytemuck::cast_slice(&cloud.xyz),
        bytemuck::cast_slice(&cloud.intensity),
        &cloud.class,
        bytemuck::cast_slice(&cloud.returns),
    ]
}

/// The flags of what `cloud` has beside its points.
pub fn attributes(cloud: &Cloud) -> u32 {
    let flag = |has: bool, bit| if has { bit } else { 0 };
    flag(!cloud.intensity.is_empty(), INTENSITY)
        | flag(!cloud.class.is_empty(), CLASS)
        | flag(!cloud.returns.is_empty(), RETURNS)
}

fn u32_at(b: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&b[at..at + 4]);
    u32::from_le_bytes(four)
}

fn u64_at(b: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&b[at..at + 8]);
    u64::from_le_bytes(eight)
}
