//! Writing a labelled set: shards and their manifest, in a folder that appears whole or not at all.

use std::{
    fmt,
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::{
    file::ShardWriter,
    layout::{attributes, parts},
    manifest::{self, Manifest, Meta, ShardInfo},
};
use crate::{Cloud, TreeRecord};

/// A shard that has grown past this many bytes is closed and another begun.
const SHARD_BYTES: u64 = 256 << 20;

/// SHA-256 over species, records and clouds, in hex. Two sets with one digest train the same.
///
/// [`TreeRecord::source`] and the set's name are left out: a set is the same wherever its files lay.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Digest(String);

impl Digest {
    /// The digest in hex.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digest in hex.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Gathers a [`Digest`]: species first, then each record with its cloud.
#[derive(Clone, Debug)]
pub(super) struct Digester(Sha256);

impl Digester {
    pub(super) fn new(species: &[String]) -> Self {
        let mut d = Self(Sha256::new());
        d.number(species.len());
        species.iter().for_each(|s| d.text(s));
        d
    }

    pub(super) fn add(&mut self, record: &TreeRecord, cloud: &Cloud) {
        self.text(&record.tree);
        self.number(record.species);
        self.text(&record.plot);
        self.number(record.scan as usize);
        cloud.origin.iter().for_each(|o| self.0.update(o.to_le_bytes()));
        self.number(cloud.len());
        self.number(attributes(cloud) as usize);
        parts(cloud).into_iter().for_each(|p| self.0.update(p));
    }

    pub(super) fn finish(self) -> Digest {
        Digest(self.0.finalize().iter().map(|b| format!("{b:02x}")).collect())
    }

    // Lengths go before texts, so that "ab" + "c" and "a" + "bc" differ.
    fn text(&mut self, s: &str) {
        self.number(s.len());
        self.0.update(s.as_bytes());
    }

    fn number(&mut self, n: usize) {
        self.0.update((n as u64).to_le_bytes());
    }
}

/// Writes a labelled set to a folder.
///
/// All is written to a folder beside it, that takes its name at [`Writer::finish`]. So a set is whole or absent, and
/// two processes that write the same set at once both succeed.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    temp: TempDir,
    meta: Meta,
    digester: Digester,
    records: Vec<TreeRecord>,
    shards: Vec<ShardInfo>,
    open: Option<ShardWriter<BufWriter<File>>>,
}

impl Writer {
    /// Begins the set `meta` in the folder `dir`, which must be absent, empty, or hold a set of shards.
    ///
    /// # Errors
    /// Where `dir` holds something else, or cannot be made.
    pub fn create(dir: &Path, meta: Meta) -> Result<Self> {
        ensure!(!meta.species.is_empty(), "the set {} has no species", meta.name);
        if !replaceable(dir)? {
            bail!(
                "{} holds files that are not a canopy data set: choose another folder, or empty it",
                dir.display()
            );
        }
        let parent = match dir.parent() {
            Some(p) if !p.as_os_str().is_empty() => p,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        let temp = tempfile::Builder::new()
            .prefix(".canopy-")
            .tempdir_in(parent)
            .with_context(|| format!("cannot write in {}", parent.display()))?;
        Ok(Self {
            dir: dir.to_owned(),
            temp,
            digester: Digester::new(&meta.species),
            meta,
            records: Vec::new(),
            shards: Vec::new(),
            open: None,
        })
    }

    /// Adds one scan of one tree.
    ///
    /// # Errors
    /// Where the label is not one of the species, the cloud is empty or not valid, or the disk refuses it.
    pub fn push(&mut self, record: &TreeRecord, cloud: &Cloud) -> Result<()> {
        self.add(record, cloud)
            .with_context(|| format!("tree {} from {}", record.tree, record.source))
    }

    fn add(&mut self, record: &TreeRecord, cloud: &Cloud) -> Result<()> {
        ensure!(
            record.species < self.meta.species.len(),
            "species {} of {}: the label is not in the list of species",
            record.species,
            self.meta.species.len()
        );
        ensure!(!cloud.is_empty(), "the cloud has no point");
        let mut shard = match self.open.take() {
            Some(s) => s,
            None => self.next_shard()?,
        };
        shard.push(cloud)?;
        self.open = Some(shard);
        self.digester.add(record, cloud);
        self.records.push(record.clone());
        if self.open.as_ref().is_some_and(|s| s.bytes() > SHARD_BYTES) {
            self.close_shard()?;
        }
        Ok(())
    }

    /// How many scans were added.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether none was added.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Writes the manifest, and gives the folder its name.
    ///
    /// Where another process has put the same set there meanwhile, that one stays; another set is replaced.
    ///
    /// # Errors
    /// Where the set is empty, or the disk refuses it.
    pub fn finish(mut self) -> Result<Digest> {
        ensure!(!self.records.is_empty(), "the set {} has no tree", self.meta.name);
        self.close_shard()?;
        let digest = self.digester.finish();
        let manifest = Manifest::new(self.meta, digest.0.clone(), self.shards, self.records);
        let path = self.temp.path().join(manifest::FILE);
        let mut text = serde_json::to_vec_pretty(&manifest)?;
        text.push(b'\n');
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        install(self.temp, &self.dir, &digest)?;
        Ok(digest)
    }

    fn next_shard(&self) -> Result<ShardWriter<BufWriter<File>>> {
        let path = self.temp.path().join(shard_name(self.shards.len()));
        let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        ShardWriter::new(BufWriter::with_capacity(1 << 20, file))
    }

    fn close_shard(&mut self) -> Result<()> {
        let Some(shard) = self.open.take() else {
            return Ok(());
        };
        let (_, header) = shard.finish()?;
        self.shards.push(ShardInfo {
            file: shard_name(self.shards.len()),
            bytes: header.table + header.clouds * super::layout::BLOCK as u64,
            clouds: header.clouds as usize,
            table_crc32: header.table_crc,
        });
        Ok(())
    }
}

fn shard_name(index: usize) -> String {
    format!("shard-{index:04}.canopy")
}

/// Whether `dir` may be taken: absent, empty, or a set of ours.
fn replaceable(dir: &Path) -> Result<bool> {
    match fs::read_dir(dir) {
        Ok(mut entries) => Ok(dir.join(manifest::FILE).is_file() || entries.next().is_none()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(e) => Err(e).with_context(|| format!("cannot look into {}", dir.display())),
    }
}

/// Gives `temp` the name `dir`.
fn install(temp: TempDir, dir: &Path, digest: &Digest) -> Result<()> {
    open_to_others(temp.path())?;
    // Another process may take the name between our look and our rename: look again, a few times.
    let mut last = None;
    for _ in 0..8 {
        if Manifest::read(dir).is_ok_and(|m| m.digest == digest.0) {
            return Ok(());
        }
        ensure!(
            replaceable(dir)?,
            "{} was filled by something else meanwhile: nothing was written there",
            dir.display()
        );
        // The old set steps aside, and comes back should the new one fail to take its place.
        let old = tempfile::Builder::new()
            .prefix(".canopy-old-")
            .tempdir_in(temp.path().parent().unwrap_or(Path::new(".")))?;
        let aside = old.path().join("set");
        let stepped = fs::rename(dir, &aside).is_ok();
        match fs::rename(temp.path(), dir) {
            Ok(()) => {
                // The folder has moved; there is nothing left for the guard to remove.
                let _ = temp.keep();
                return Ok(());
            }
            Err(e) => {
                // Where this fails another process has taken the name, and its set stands there.
                if stepped {
                    let _ = fs::rename(&aside, dir);
                }
                last = Some(e);
            }
        }
    }
    Err(last.map_or_else(|| anyhow::anyhow!("gave up"), Into::into))
        .with_context(|| format!("cannot give the finished set its name {}", dir.display()))
}

/// A temporary folder is its owner's alone; the finished set is as open as any folder.
#[cfg(unix)]
fn open_to_others(dir: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot set the mode of {}", dir.display()))
}

#[cfg(not(unix))]
fn open_to_others(_: &Path) -> Result<()> {
    Ok(())
}
