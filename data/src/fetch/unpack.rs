//! Unpacks a zip, which may be hostile.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use zip::ZipArchive;

use super::free_space;
use crate::atomic;

/// The largest accepted ratio of unpacked to packed size. LAS shrinks to a tenth at best.
const GREATEST_RATIO: u64 = 100;
/// Up to this size, any ratio is accepted.
const ALWAYS_ALLOWED: u64 = 64 << 20;
const MOST_ENTRIES: usize = 1_000_000;

/// Unpacks `archive` into the folder `to`, which must not exist and gets its name when all is written.
/// `progress` is called with the bytes so far and in all. Its error stops the unpacking, and no file is left.
///
/// # Errors
/// Returns an error for entries outside `to` (`..`, absolute names, drives), links, two entries of one name, encryption,
/// a size that only a zip bomb has, a damaged archive, and a full disk.
pub fn unpack(archive: &Path, to: &Path, progress: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<()> {
    ensure!(
        !to.exists(),
        "{} exists already; remove it to unpack again",
        to.display()
    );
    let at = || archive.display().to_string();
    let file = File::open(archive).with_context(at)?;
    let packed = file.metadata().with_context(at)?.len();
    let mut zip = ZipArchive::new(BufReader::new(file))
        .with_context(|| format!("{}: not a zip, or truncated", at()))?;
    let (paths, total) = survey(&mut zip, packed).with_context(at)?;

    let parent = atomic::parent(to);
    let free = free_space(parent)?;
    ensure!(
        free > total,
        "{}: {free} bytes free, {total} needed to unpack {}",
        parent.display(),
        at()
    );
    atomic::folder(to, |temp| {
        let mut done = 0;
        for (index, path) in paths.iter().enumerate() {
            let target = temp.join(path);
            let name = path.display();
            let mut entry = zip.by_index(index).with_context(|| format!("{}: {name}", at()))?;
            let folder = if entry.is_dir() {
                &target
            } else {
                atomic::parent(&target)
            };
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            if entry.is_dir() {
                continue;
            }
            let size = entry.size();
            let mut out =
                File::create_new(&target).with_context(|| format!("cannot write {}", target.display()))?;
            // One byte more than announced is enough to detect a wrong announcement.
            let n = io::copy(&mut entry.by_ref().take(size + 1), &mut out)
                .with_context(|| format!("{}: {name} is damaged, or the disk is full", at()))?;
            ensure!(
                n == size,
                "{}: {name} has {n} bytes or more, announced are {size}",
                at()
            );
            done += n;
            progress(done, total)?;
        }
        Ok(())
    })
}

/// Looks at every entry's name and size before anything is written.
fn survey(zip: &mut ZipArchive<BufReader<File>>, packed: u64) -> Result<(Vec<PathBuf>, u64)> {
    ensure!(!zip.is_empty(), "the zip is empty");
    ensure!(
        zip.len() <= MOST_ENTRIES,
        "{} entries: no data set has so many",
        zip.len()
    );
    let most = (packed * GREATEST_RATIO).max(ALWAYS_ALLOWED);
    let mut paths = Vec::with_capacity(zip.len());
    let mut seen = HashSet::new();
    let mut total = 0u64;
    for index in 0..zip.len() {
        let entry = zip
            .by_index_raw(index)
            .with_context(|| format!("entry {index}"))?;
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let path = safe_path(&name)?;
        ensure!(!entry.is_symlink(), "'{name}' is a link: not unpacked");
        ensure!(!entry.encrypted(), "'{name}' is encrypted");
        // Case apart: some disks hold one file where the zip has two.
        ensure!(
            seen.insert(path.to_string_lossy().to_lowercase()) || entry.is_dir(),
            "'{name}' is in the zip twice"
        );
        total = total.saturating_add(entry.size());
        ensure!(
            total <= most,
            "unpacked it would be more than {most} bytes, from {packed}: not a data set"
        );
        paths.push(path);
    }
    Ok((paths, total))
}

/// The name as a path that stays below its folder on any system.
fn safe_path(name: &str) -> Result<PathBuf> {
    let mut path = PathBuf::new();
    let outside = name.starts_with(['/', '\\']) || name.contains([':', '\0']);
    for piece in name.split(['/', '\\']) {
        match piece {
            "" | "." => {}
            ".." => bail!("'{name}' leads out of the folder"),
            piece => path.push(piece),
        }
    }
    ensure!(!outside, "'{name}' leads out of the folder");
    ensure!(!path.as_os_str().is_empty(), "'{name}' is an empty name");
    Ok(path)
}
