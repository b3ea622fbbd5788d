//! One shard file: written as clouds come, read by mapping it into memory.

use std::{
    fs::File,
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use memmap2::Mmap;

use super::layout::{BLOCK, Entry, Header, parts};
use crate::{Cloud, Return};

/// Writes clouds one after another; [`ShardWriter::finish`] adds the table.
#[derive(Debug)]
pub struct ShardWriter<W> {
    out: W,
    at: u64,
    entries: Vec<Entry>,
}

impl<W: Write + Seek> ShardWriter<W> {
    /// Begins a shard in `out`, which must stand at its start.
    ///
    /// # Errors
    /// Where `out` cannot be written.
    pub fn new(mut out: W) -> Result<Self> {
        // Zeros until the end: a shard that was never finished has no magic, and is not taken for one.
        out.write_all(&[0; BLOCK])?;
        Ok(Self {
            out,
            at: BLOCK as u64,
            entries: Vec::new(),
        })
    }

    /// Adds a cloud.
    ///
    /// # Errors
    /// Where the cloud is not valid (see [`Cloud::validate`]) or cannot be written.
    pub fn push(&mut self, cloud: &Cloud) -> Result<()> {
        cloud.validate()?;
        let entry = Entry::of(cloud, self.at);
        for part in parts(cloud) {
            self.out.write_all(part)?;
            self.at += part.len() as u64;
        }
        let pad = self.at.next_multiple_of(BLOCK as u64) - self.at;
        self.out.write_all(&[0; BLOCK][..pad as usize])?;
        self.at += pad;
        self.entries.push(entry);
        Ok(())
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    /// How many clouds it holds.
    pub fn clouds(&self) -> usize {
        self.entries.len()
    }

    /// Writes the table and the header; gives back what was written to, and the header.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn finish(mut self) -> Result<(W, Header)> {
        let table: Vec<u8> = self.entries.iter().flat_map(Entry::encode).collect();
        self.out.write_all(&table)?;
        let header = Header {
            clouds: self.entries.len() as u64,
            table: self.at,
            table_crc: crc32fast::hash(&table),
        };
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header.encode())?;
        self.out.flush()?;
        Ok((self.out, header))
    }
}

/// A shard mapped into memory. Its clouds' points can be borrowed without a copy.
#[derive(Debug)]
pub struct Shard {
    path: PathBuf,
    map: Mmap,
    header: Header,
    entries: Vec<Entry>,
}

impl Shard {
    /// Maps the shard at `path`, and holds its header and table against their checksums.
    ///
    /// # Errors
    /// Names the file and byte that is damaged or missing.
    pub fn open(path: &Path) -> Result<Self> {
        ensure!(
            cfg!(target_endian = "little"),
            "{}: shards are read on little-endian machines only; convert it to LAZ on one",
            path.display()
        );
        let whole = || format!("cannot read shard {}", path.display());
        let file = File::open(path).with_context(whole)?;
        // SAFETY: as with every mapped file, another process that cuts this one short while it is read ends us by
        // a signal. Shards are written under another name and renamed, so no writer of ours ever does.
        let map = unsafe { Mmap::map(&file) }.with_context(whole)?;
        let header = Header::decode(&map).with_context(whole)?;
        let table = &map[header.table as usize..];
        let crc = crc32fast::hash(table);
        ensure!(
            crc == header.table_crc,
            "{}: the table at byte {} is damaged: expected checksum {:08x}, found {crc:08x}; fetch or import the set again",
            path.display(),
            header.table,
            header.table_crc
        );
        let entries = table
            .chunks_exact(BLOCK)
            .enumerate()
            .map(|(i, b)| {
                Entry::decode(b, header.table).with_context(|| format!("{}: cloud {i}", path.display()))
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            path: path.to_owned(),
            map,
            header,
            entries,
        })
    }

    /// What the header says.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The table: where each cloud lies.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The points of cloud `index`, borrowed from the map: metres from the cloud's origin.
    ///
    /// # Errors
    /// Where there is no such cloud, or its bytes fail their checksum.
    pub fn points(&self, index: usize) -> Result<&[[f32; 3]]> {
        let (entry, bytes) = self.bytes(index)?;
        let [xyz, ..] = entry.split(bytes);
        bytemuck::try_cast_slice(xyz).map_err(|e| {
            anyhow::anyhow!(
                "{}: cloud {index}: points cannot be borrowed: {e}",
                self.path.display()
            )
        })
    }

    /// Cloud `index`.
    ///
    /// # Errors
    /// Where there is no such cloud, its bytes fail their checksum, or a coordinate is not a number.
    pub fn cloud(&self, index: usize) -> Result<Cloud> {
        let (entry, bytes) = self.bytes(index)?;
        let [xyz, intensity, class, returns] = entry.split(bytes);
        let cloud = Cloud {
            origin: entry.origin,
            xyz: copied(xyz),
            intensity: copied(intensity),
            class: class.to_vec(),
            returns: returns
                .chunks_exact(2)
                .map(|r| Return {
                    number: r[0],
                    of: r[1],
                })
                .collect(),
        };
        cloud
            .validate()
            .with_context(|| format!("{}: cloud {index}", self.path.display()))?;
        Ok(cloud)
    }

    fn bytes(&self, index: usize) -> Result<(&Entry, &[u8])> {
        let entry = self.entries.get(index).with_context(|| {
            format!(
                "{}: there is no cloud {index}: it holds {}",
                self.path.display(),
                self.entries.len()
            )
        })?;
        // `Entry::decode` held the range against the file's length.
        let size = entry.size().unwrap_or(0) as usize;
        let bytes = &self.map[entry.offset as usize..][..size];
        let crc = crc32fast::hash(bytes);
        ensure!(
            crc == entry.crc,
            "{}: cloud {index} at byte {} is damaged: expected checksum {:08x}, found {crc:08x}; fetch or import the set again",
            self.path.display(),
            entry.offset,
            entry.crc
        );
        Ok((entry, bytes))
    }
}

/// `bytes` as values of their own, wherever the bytes lie in memory.
fn copied<T: bytemuck::Pod>(bytes: &[u8]) -> Vec<T> {
    let mut values = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
    values
}
