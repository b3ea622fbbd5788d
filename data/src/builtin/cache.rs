//! The built-in set on disk: one file, written atomically and checked when it is read.
//!
//! ```text
//! 8 bytes   "CANOPYF1"
//! u32       length of the header, little-endian like all that follows
//! header    JSON: configuration, species, records
//! payload   the scans' points: x, y, z as f32; intensity as u16; return number and number of returns as u8
//! 32 bytes  SHA-256 of header and payload
//! ```

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Cloud, Return, TreeRecord, atomic};

use super::{Config, GENERATOR, make::Made, species_names};

const MAGIC: &[u8; 8] = b"CANOPYF1";
const POINT: usize = 16;
const DIGEST: usize = 32;

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Header {
    generator: u32,
    config: Config,
    species: Vec<String>,
    records: Vec<TreeRecord>,
}

/// The set as the bytes of its file.
#[derive(Debug)]
pub struct Packed {
    bytes: Vec<u8>,
    payload: usize,
    points: usize,
    /// The scans' records.
    pub records: Vec<TreeRecord>,
    /// SHA-256 of header and payload, in hex.
    pub digest: String,
}

/// The file of `config` in `dir`. Another configuration or generator has another file.
pub fn path(config: &Config, dir: &Path) -> PathBuf {
    let Config { seed, trees, points } = config;
    dir.join(format!("builtin-v{GENERATOR}-seed{seed}-{trees}x{points}.trees"))
}

impl Packed {
    /// Packs a generated set.
    pub fn pack(config: &Config, made: Made) -> Result<Self> {
        let header = Header {
            generator: GENERATOR,
            config: config.clone(),
            species: species_names(),
            records: made.records,
        };
        let json = serde_json::to_vec(&header)?;
        let mut bytes =
            Vec::with_capacity(12 + json.len() + made.clouds.len() * config.points * POINT + DIGEST);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&(json.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&json);
        let payload = bytes.len();
        for cloud in &made.clouds {
            ensure!(
                cloud.len() == config.points,
                "a scan of {} points, not {}",
                cloud.len(),
                config.points
            );
            for (i, p) in cloud.xyz.iter().enumerate() {
                for c in p {
                    bytes.extend_from_slice(&c.to_le_bytes());
                }
                bytes.extend_from_slice(&cloud.intensity[i].to_le_bytes());
                bytes.extend_from_slice(&[cloud.returns[i].number, cloud.returns[i].of]);
            }
        }
        let digest = Sha256::digest(&bytes[12..]);
        bytes.extend_from_slice(&digest);
        Ok(Self {
            bytes,
            payload,
            points: config.points,
            records: header.records,
            digest: hex(&digest),
        })
    }

    /// Reads the set of `config` from `path`.
    ///
    /// # Errors
    /// Returns an error if the file is missing, truncated, damaged, or of another configuration.
    pub fn read(config: &Config, path: &Path) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| format!("{}: cannot read", path.display()))?;
        Self::parse(config, bytes).with_context(|| format!("{}: the cache is damaged", path.display()))
    }

    fn parse(config: &Config, bytes: Vec<u8>) -> Result<Self> {
        ensure!(
            bytes.len() > 12 + DIGEST && &bytes[..8] == MAGIC,
            "expected the first bytes of a built-in set"
        );
        let length = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize;
        let end = bytes.len() - DIGEST;
        ensure!(
            length <= end - 12,
            "its header of {length} bytes is longer than the file"
        );
        let digest = Sha256::digest(&bytes[12..end]);
        ensure!(
            digest[..] == bytes[end..],
            "its digest does not match its content"
        );
        let header: Header = serde_json::from_slice(&bytes[12..12 + length])?;
        ensure!(
            header.generator == GENERATOR && header.config == *config && header.species == species_names(),
            "it has another set: {:?}",
            header.config
        );
        let payload = 12 + length;
        ensure!(
            end - payload == header.records.len() * config.points * POINT,
            "{} bytes of points for {} scans",
            end - payload,
            header.records.len()
        );
        let digest = hex(&digest);
        Ok(Self {
            bytes,
            payload,
            points: config.points,
            records: header.records,
            digest,
        })
    }

    /// Writes the set to `path` atomically.
    pub fn write(&self, path: &Path) -> Result<()> {
        atomic::write(path, &self.bytes)
    }

    /// The cloud of record `index`.
    pub fn cloud(&self, index: usize) -> Result<Cloud> {
        let n = self.records.len();
        ensure!(
            index < n,
            "the built-in set has {n} scans: there is no scan {index}"
        );
        let size = self.points * POINT;
        let from = self.payload + index * size;
        let mut cloud = Cloud::default();
        for p in self.bytes[from..from + size].chunks_exact(POINT) {
            let coordinate = |k: usize| f32::from_le_bytes([p[k], p[k + 1], p[k + 2], p[k + 3]]);
            cloud.xyz.push([coordinate(0), coordinate(4), coordinate(8)]);
            cloud.intensity.push(u16::from_le_bytes([p[12], p[13]]));
            cloud.returns.push(Return {
                number: p[14],
                of: p[15],
            });
        }
        Ok(cloud)
    }
}

/// Locks `path` until the result is dropped, so that two programs do not generate the same set at the same time. On a
/// file system without locks both do, which wastes time only.
pub fn lock(path: &Path) -> Option<File> {
    let file = File::create(path.with_extension("lock")).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// Removes the temporary files of programs that were killed while they wrote `path`. Requires the lock.
pub fn sweep(path: &Path) {
    let prefix = atomic::prefix(path);
    let entries = path.parent().and_then(|dir| fs::read_dir(dir).ok());
    for entry in entries.into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            // A file that cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
