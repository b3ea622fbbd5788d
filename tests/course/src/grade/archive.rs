//! Reads the entries of a .zip, .tar or .tar.gz. The first bytes decide which it is, because names are often wrong: some
//! browsers unpack `.tar.gz` to a tar of the same name.

use std::{
    fmt,
    io::{self, Read, Seek},
};

use anyhow::{Result, bail};

/// Maximum number of entries of an archive, and maximum size of its unpacked content in bytes.
const ENTRIES: usize = 200_000;
const UNPACKED: u64 = 256 << 20;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    File,
    Folder,
    /// Neither, such as a link.
    Other(&'static str),
}

/// An entry, as the archive describes it.
pub struct Entry {
    /// With `/` between its parts.
    pub path: String,
    pub kind: Kind,
    /// Time of its last change in seconds since 1970 UTC. The local times of MS-DOS, which a zip may have instead, have
    /// no time zone and are not used.
    pub date: Option<u64>,
}

/// More than a submission may contain.
#[derive(Debug)]
pub struct TooMuch(pub String);

impl fmt::Display for TooMuch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TooMuch {}

/// Whether a file of this name is opened as an archive.
pub fn is_archive(name: &str) -> bool {
    let name = name.to_lowercase();
    [".zip", ".tar", ".gz", ".tgz"].iter().any(|e| name.ends_with(e))
}

/// The name without the ending of an archive: `anna` of `anna.tar.GZ`.
pub fn stem(name: &str) -> &str {
    let lower = name.to_lowercase();
    let ending = [".tar.gz", ".tgz", ".tar", ".zip", ".gz"]
        .iter()
        .find(|e| lower.ends_with(**e));
    // An ending is ASCII, so it has the same length in both.
    name.get(..name.len() - ending.map_or(0, |e| e.len()))
        .unwrap_or(name)
}

/// Calls `visit` with each entry and its content, which is unpacked only if it is read.
///
/// # Errors
/// Returns an error if the archive is damaged, unpacks to too much, or `visit` fails.
pub fn entries(
    mut from: impl Read + Seek,
    mut visit: impl FnMut(Entry, &mut dyn Read) -> Result<()>,
) -> Result<()> {
    let mut head = [0; 262];
    let mut filled = 0;
    while filled < head.len() {
        match from.read(&mut head[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    from.rewind()?;
    match &head[..filled] {
        [b'P', b'K', 3 | 5, 4 | 6, ..] => zip(from, visit),
        [0x1f, 0x8b, ..] => tar(flate2::read::MultiGzDecoder::new(from), &mut visit),
        head if head.get(257..262) == Some(b"ustar") => tar(from, &mut visit),
        _ => bail!("it does not begin like a .zip, .tar or .tar.gz"),
    }
}

fn many(count: usize) -> Result<()> {
    match count > ENTRIES {
        true => Err(TooMuch(format!("it has more than {ENTRIES} entries")).into()),
        false => Ok(()),
    }
}

fn zip(from: impl Read + Seek, mut visit: impl FnMut(Entry, &mut dyn Read) -> Result<()>) -> Result<()> {
    let mut archive = zip::ZipArchive::new(from)?;
    many(archive.len())?;
    for index in 0..archive.len() {
        let mut file = archive.by_index(index)?;
        // The upper half of the mode says what a Unix file is.
        let kind = match file.unix_mode().map(|m| m & 0o170_000) {
            _ if file.is_dir() => Kind::Folder,
            Some(0o120_000) => Kind::Other("a link"),
            Some(0 | 0o100_000) | None => Kind::File,
            Some(_) => Kind::Other("not a plain file"),
        };
        let date = file.extra_data_fields().find_map(|field| match field {
            zip::ExtraField::ExtendedTimestamp(times) => times.mod_time().map(u64::from),
            _ => None,
        });
        // Some programs of Windows write `\`.
        let path = file.name()?.replace('\\', "/");
        visit(Entry { path, kind, date }, &mut file)?;
    }
    Ok(())
}

fn tar(from: impl Read, visit: &mut impl FnMut(Entry, &mut dyn Read) -> Result<()>) -> Result<()> {
    let mut archive = tar::Archive::new(Counted { from, left: UNPACKED });
    for (index, entry) in archive.entries().map_err(own_error)?.enumerate() {
        many(index)?;
        let mut entry = entry.map_err(own_error)?;
        let kind = match entry.header().entry_type() {
            tar::EntryType::Regular | tar::EntryType::Continuous => Kind::File,
            tar::EntryType::Directory => Kind::Folder,
            tar::EntryType::Symlink | tar::EntryType::Link => Kind::Other("a link"),
            tar::EntryType::XGlobalHeader => continue,
            _ => Kind::Other("not a plain file"),
        };
        let path = String::from_utf8_lossy(&entry.path_bytes()).replace('\\', "/");
        // `cargo course pack` writes 0 here, because it writes the time elsewhere.
        let date = entry.header().mtime().ok().filter(|t| *t > 0);
        visit(Entry { path, kind, date }, &mut entry)?;
    }
    Ok(())
}

/// Returns our own error, if a reader wrapped it into its error.
pub fn own_error(error: io::Error) -> anyhow::Error {
    match error.get_ref().is_some_and(|e| e.is::<TooMuch>()) {
        true => TooMuch(error.to_string()).into(),
        false => error.into(),
    }
}

/// Fails with [`TooMuch`] after `left` bytes.
struct Counted<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::other(TooMuch(format!("it unpacks to more than {} MiB", UNPACKED >> 20)))
        })?;
        Ok(count)
    }
}
