//! Unpacks a zip whose MD5 was verified.

use std::{
    fs::{self, File},
    io::{self, BufReader},
    path::Path,
};

use anyhow::{Context, Result, ensure};
use zip::ZipArchive;

use super::download::check_space;
use crate::atomic;

/// Unpacks `archive` into the folder `to`, which must not exist and gets its name when all is written.
/// `progress` is called with the bytes so far and in all. Its error stops the unpacking, and no file is left.
///
/// # Errors
/// Returns an error if an entry's name leads out of `to`, the archive is damaged, or the disk is full.
pub fn unpack(archive: &Path, to: &Path, progress: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<()> {
    ensure!(
        !to.exists(),
        "{} exists already; remove it to unpack again",
        to.display()
    );
    let at = || archive.display().to_string();
    let file = File::open(archive).with_context(at)?;
    let mut zip = ZipArchive::new(BufReader::new(file))
        .with_context(|| format!("{}: not a zip, or truncated", at()))?;
    let total = zip.decompressed_size().unwrap_or(0) as u64;
    check_space(atomic::parent(to), Some(total), 0)?;
    atomic::folder(to, |temp| {
        let mut done = 0;
        for index in 0..zip.len() {
            let mut entry = zip
                .by_index(index)
                .with_context(|| format!("{}: entry {index}", at()))?;
            let name = entry.enclosed_name().with_context(|| {
                format!(
                    "{}: '{}' leads out of the folder",
                    at(),
                    String::from_utf8_lossy(entry.name_raw())
                )
            })?;
            let target = temp.join(&name);
            let folder = if entry.is_dir() {
                &target
            } else {
                atomic::parent(&target)
            };
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            if entry.is_dir() {
                continue;
            }
            let mut out =
                File::create_new(&target).with_context(|| format!("cannot write {}", target.display()))?;
            done += io::copy(&mut entry, &mut out)
                .with_context(|| format!("{}: {} is damaged, or the disk is full", at(), name.display()))?;
            progress(done, total)?;
        }
        Ok(())
    })
}
