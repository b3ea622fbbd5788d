//! Writing a labelled set: shards and their manifest, in a folder that appears complete or not at all.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::{
    file::{Clouds, attributes, parts},
    manifest::{self, Manifest, Meta, ShardInfo},
};
use crate::{Cloud, TreeRecord, atomic};

/// The next shard begins when one has more bytes than this.
const SHARD_BYTES: u64 = 256 << 20;

/// Computes the SHA-256 over species, records and clouds: species first, then each record with its cloud.
///
/// Training a classifier on two sets with the same digest gives the same model. [`TreeRecord::source`] and the set's name are
/// not part of it, so that it does not depend on where the files were. Neither is [`TreeRecord::inventory`].
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
        self.number(usize::from(attributes(cloud)));
        parts(cloud).into_iter().for_each(|p| self.0.update(p));
    }

    /// The digest in hex.
    pub(super) fn finish(self) -> String {
        self.0.finalize().iter().map(|b| format!("{b:02x}")).collect()
    }

    // Lengths precede texts, so that "ab" + "c" and "a" + "bc" differ.
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
/// Everything is written to a temporary folder beside it, which [`Writer::finish`] renames. So a set is complete or
/// absent, and two processes that write the same set at the same time both succeed.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    temp: TempDir,
    meta: Meta,
    digester: Digester,
    records: Vec<TreeRecord>,
    shards: Vec<ShardInfo>,
    /// Those of the next shard.
    open: Clouds,
}

impl Writer {
    /// Begins the set `meta` in the folder `dir`, which must be absent, empty, or a set of shards.
    ///
    /// # Errors
    /// Returns an error if `dir` has other files or cannot be created.
    pub fn create(dir: &Path, meta: Meta) -> Result<Self> {
        ensure!(!meta.species.is_empty(), "the set {} has no species", meta.name);
        ensure!(
            replaceable(dir)?,
            "{} has files that are not a canopy data set: choose another folder, or empty it",
            dir.display()
        );
        let temp = atomic::folder_beside(dir)?;
        Ok(Self {
            dir: dir.to_owned(),
            open: Clouds::default(),
            temp,
            digester: Digester::new(&meta.species),
            meta,
            records: Vec::new(),
            shards: Vec::new(),
        })
    }

    /// Adds one scan of one tree.
    ///
    /// # Errors
    /// Returns an error if the label is not one of the species, or the cloud is empty, not valid or cannot be written.
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
        self.open.push(cloud)?;
        self.digester.add(record, cloud);
        self.records.push(record.clone());
        if self.open.bytes() > SHARD_BYTES {
            self.close_shard()?;
        }
        Ok(())
    }

    /// Writes the manifest and renames the folder. Returns the digest of the set, in hex.
    ///
    /// If another process has written the same set meanwhile, that one is kept; another set is replaced.
    ///
    /// # Errors
    /// Returns an error if the set is empty or cannot be written.
    pub fn finish(mut self) -> Result<String> {
        ensure!(!self.records.is_empty(), "the set {} has no tree", self.meta.name);
        if self.open.bytes() > 0 {
            self.close_shard()?;
        }
        let digest = self.digester.finish();
        let manifest = Manifest {
            format: manifest::FORMAT.to_owned(),
            meta: self.meta,
            digest: digest.clone(),
            shards: self.shards,
            records: self.records,
        };
        let path = self.temp.path().join(manifest::FILE);
        let mut text = serde_json::to_vec_pretty(&manifest)?;
        text.push(b'\n');
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        install(self.temp, &self.dir, &digest)?;
        Ok(digest)
    }

    fn close_shard(&mut self) -> Result<()> {
        let file = format!("shard-{:04}.safetensors", self.shards.len());
        let path = self.temp.path().join(&file);
        let (clouds, table_crc32) = std::mem::take(&mut self.open)
            .write(&path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        self.shards.push(ShardInfo {
            file,
            clouds,
            table_crc32,
        });
        Ok(())
    }
}

/// Whether `dir` may be replaced: it is absent, empty, or a set of shards.
fn replaceable(dir: &Path) -> Result<bool> {
    match fs::read_dir(dir) {
        Ok(mut entries) => Ok(dir.join(manifest::FILE).is_file() || entries.next().is_none()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(e) => Err(e).with_context(|| format!("cannot list {}", dir.display())),
    }
}

/// Renames `temp` to `dir`.
fn install(temp: TempDir, dir: &Path, digest: &str) -> Result<()> {
    // Another process may create `dir` between the check and the rename: try a few times.
    let mut last = None;
    for _ in 0..8 {
        // The same set is kept, unless a file of it is damaged.
        let found = super::open(dir).and_then(|set| super::digest(&set));
        if found.is_ok_and(|found| found == digest) {
            return Ok(());
        }
        ensure!(
            replaceable(dir)?,
            "another program wrote other files to {} meanwhile: nothing was written there",
            dir.display()
        );
        // The old set is moved away, and back if the new one cannot be renamed.
        let old = atomic::folder_beside(dir)?;
        let aside = old.path().join("set");
        let moved = fs::rename(dir, &aside).is_ok();
        match fs::rename(temp.path(), dir) {
            Ok(()) => {
                // The folder has another name now: there is nothing left to remove.
                let _ = temp.keep();
                return Ok(());
            }
            Err(e) => last = Some(e),
        }
        if moved {
            // If this fails, another process has put its set there.
            let _ = fs::rename(&aside, dir);
        }
    }
    let reason = last.map_or(String::new(), |e| format!(": {e}"));
    bail!("cannot rename the finished set to {}{reason}", dir.display())
}
