//! The built-in set on disk: one file, written whole or not at all, checked whenever it is read.
//!
//! ```text
//! 8 bytes   "CANOPYF1"
//! u32       length of the header, little-endian like all that follows
//! header    JSON: configuration, species, records
//! payload   a scan after the other: x, y, z as f32; intensity as u16; return number and number of returns as u8
//! 32 bytes  SHA-256 of header and payload
//! ```

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Cloud, Return, TreeRecord};

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

/// The set as the bytes of its file, and where its clouds lie in them.
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
    /// Packs a set that was just made.
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
    /// Where the file is missing, cut short, damaged, or of another configuration.
    pub fn read(config: &Config, path: &Path) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| format!("{}: cannot read", path.display()))?;
        Self::parse(config, bytes).with_context(|| format!("{}: not a sound cache", path.display()))
    }

    fn parse(config: &Config, bytes: Vec<u8>) -> Result<Self> {
        ensure!(
            bytes.len() > 12 + DIGEST && &bytes[..8] == MAGIC,
            "it does not begin as one"
        );
        let length = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize;
        let end = bytes.len() - DIGEST;
        ensure!(
            length <= end - 12,
            "its header of {length} bytes goes beyond its end"
        );
        let digest = Sha256::digest(&bytes[12..end]);
        ensure!(
            digest[..] == bytes[end..],
            "its digest is another than that of its content"
        );
        let header: Header = serde_json::from_slice(&bytes[12..12 + length])?;
        ensure!(
            header.generator == GENERATOR && header.config == *config && header.species == species_names(),
            "it holds another set: {:?}",
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

    /// Writes the set to `path`: to a temporary file beside it, synced, then renamed.
    pub fn write(&self, path: &Path) -> Result<()> {
        let dir = path.parent().unwrap_or(Path::new("."));
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::Builder::new()
                .prefix(&leftover_prefix(path))
                .suffix(".tmp")
                .tempfile_in(dir)?;
            file.write_all(&self.bytes)?;
            file.as_file().sync_all()?;
            file.persist(path).map_err(|e| e.error)?;
            Ok(())
        };
        write().with_context(|| format!("{}: cannot write", path.display()))
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

/// Holds the lock of `path` while it lives, so that two programs do not make the same set side by side.
/// Where the file system knows no locks both make it: wasted time, but the file is whole all the same.
pub fn lock(path: &Path) -> Option<File> {
    let file = File::create(path.with_extension("lock")).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// Removes what a program left behind that was killed while it wrote `path`. Call it with the lock held.
pub fn sweep(path: &Path) {
    let prefix = leftover_prefix(path);
    let entries = path.parent().and_then(|dir| fs::read_dir(dir).ok());
    for entry in entries.into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            // It is only litter: where it cannot be removed, it may stay.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn leftover_prefix(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    format!(".{}-", stem.to_string_lossy())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
