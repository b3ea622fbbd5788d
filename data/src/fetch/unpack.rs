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
/// `each` is called with the entries so far and in all. Its error stops the unpacking, and no file is left.
///
/// # Errors
/// Returns an error if an entry's name leads out of `to`, the archive is damaged, or the disk is full.
pub fn unpack(archive: &Path, to: &Path, each: &dyn Fn(usize, usize) -> Result<()>) -> Result<()> {
    ensure!(
        !to.exists(),
        "{} exists already; remove it to unpack again",
        to.display()
    );
    let at = archive.display();
    let file = File::open(archive).with_context(|| at.to_string())?;
    let mut zip =
        ZipArchive::new(BufReader::new(file)).with_context(|| format!("{at}: not a zip, or truncated"))?;
    check_space(
        atomic::parent(archive),
        zip.decompressed_size().unwrap_or(0) as u64,
    )?;
    atomic::folder(to, |temp| {
        for index in 0..zip.len() {
            each(index, zip.len())?;
            let entry = zip.by_index(index);
            let mut entry = entry.with_context(|| format!("{at}: entry {index} is damaged"))?;
            let name = entry.enclosed_name();
            let name = name.with_context(|| {
                let name = String::from_utf8_lossy(entry.name_raw());
                format!("{at}: '{name}' leads out of the folder")
            })?;
            let target = temp.join(&name);
            let folder = match entry.is_dir() {
                true => &target,
                false => atomic::parent(&target),
            };
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            if entry.is_file() {
                let mut out = File::create_new(&target)
                    .with_context(|| format!("cannot write {}", target.display()))?;
                io::copy(&mut entry, &mut out)
                    .with_context(|| format!("{at}: {} is damaged, or the disk is full", name.display()))?;
            }
        }
        Ok(())
    })
}
