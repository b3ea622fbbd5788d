//! Unpacks a zip whose MD5 was verified.

use std::{fs::File, io::BufReader, path::Path};

use anyhow::{Context, Result, ensure};
use zip::ZipArchive;

use super::download::check_space;
use crate::atomic;

/// Unpacks `archive` into the folder `to`, which must not exist and gets its name when all is written.
///
/// # Errors
/// Returns an error if an entry's name leads out of `to`, the archive is damaged, or the disk is full.
pub fn unpack(archive: &Path, to: &Path) -> Result<()> {
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
        zip.extract(temp)
            .with_context(|| format!("{at}: damaged, an entry leads out of the folder, or the disk is full"))
    })
}
