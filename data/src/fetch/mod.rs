//! Public data sets by name: where their files are, how long, under which licence; and a download by `curl` that resumes,
//! checks, and never leaves half a file under its name.

use std::{
    fs,
    io::{self, Read},
    path::Path,
    process::Command,
    sync::LazyLock,
};

use anyhow::{Context, Result, bail, ensure};
use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};

use crate::atomic;

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let entries = serde_json::from_str(include_str!("catalogue.json"));
    entries.unwrap_or_else(|e| panic!("catalogue.json: {e}"))
});

/// A published data set.
#[derive(Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Its name on the command line; also the layout to import it as.
    pub name: &'static str,
    /// A description.
    pub title: &'static str,
    /// How to cite it.
    pub citation: &'static str,
    /// Its web page.
    pub page: &'static str,
    /// The licence of the data as its page names it; empty: see the page.
    pub licence: &'static str,
    /// Its files.
    pub files: Vec<File>,
    /// What the user must do by hand; empty: nothing.
    pub by_hand: &'static str,
}

/// A file of a data set.
#[derive(Debug, Serialize, Deserialize)]
pub struct File {
    /// Its name.
    pub name: &'static str,
    /// Its address; `None` if no direct address is known.
    pub url: Option<&'static str>,
    /// Its length in bytes, if published.
    pub bytes: Option<u64>,
    /// Its MD5, in hex, as published.
    pub md5: &'static str,
}

/// Every known data set.
pub fn catalogue() -> &'static [Entry] {
    &ENTRIES
}

/// The data set called `name`.
///
/// # Errors
/// Lists the names that are known.
pub fn find(name: &str) -> Result<&'static Entry> {
    let names: Vec<_> = ENTRIES.iter().map(|e| e.name).collect();
    ENTRIES
        .iter()
        .find(|e| e.name == name.to_lowercase())
        .with_context(|| format!("no data set is called '{name}': known are {}", names.join(", ")))
}

/// Options of every download. curl shows its progress, and waits and retries by itself if a server is busy; a server that
/// sends nothing for a minute has failed.
const OPTIONS: &str = "--fail --location --show-error --progress-bar --continue-at - --retry 5 --connect-timeout 60 \
                       --speed-limit 1 --speed-time 60";

/// Downloads `file` from `url` to `to` by `curl`. The part so far is kept in `to` + `.part`; the next run resumes it.
///
/// # Errors
/// Returns an error if `to` has other content, curl fails, length or MD5 are wrong, or there is no `curl`: then the error says
/// how to download the file without it.
pub fn download(url: &str, to: &Path, file: &File) -> Result<()> {
    let at = to.display();
    if to.exists() {
        return verify(to, file)
            .with_context(|| format!("{at} exists already; remove it to download it again"));
    }
    let folder = atomic::parent(to);
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let part = to.with_added_extension("part");
    // The part may be whole, if the last run was stopped at its end.
    if verify(&part, file).is_err() {
        // A server must not redirect to another protocol.
        let protocol = format!("={}", url.split(':').next().unwrap_or("https"));
        let mut curl = Command::new("curl");
        curl.args(OPTIONS.split_whitespace())
            .args(["--user-agent", concat!("canopy/", env!("CARGO_PKG_VERSION"))])
            .args(["--proto", &protocol, "--url", url, "--output"])
            .arg(&part);
        let status = match curl.status() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => bail!(
                "there is no `curl`, which downloads the file: install it, or save {url} as {at} in another way, such as\n  \
                 wget --continue --output-document='{at}' '{url}'\nand run this command again, which then checks the file"
            ),
            status => status.context("cannot start curl")?,
        };
        ensure!(
            status.success(),
            "{url}: curl failed (its message is above); run the command again to resume, or remove {} to begin again",
            part.display()
        );
        if let Err(e) = verify(&part, file) {
            fs::remove_file(&part).with_context(|| format!("cannot remove {}", part.display()))?;
            return Err(e.context(format!(
                "{url}: the download is not the published file and was removed"
            )));
        }
    }
    fs::rename(&part, to).with_context(|| format!("cannot rename {} to {at}", part.display()))
}

/// Compares the file at `path` with the length and the MD5 of `file`.
///
/// # Errors
/// Names both values if they differ.
pub fn verify(path: &Path, file: &File) -> Result<()> {
    let at = path.display();
    let mut content = fs::File::open(path).with_context(|| at.to_string())?;
    let (mut hash, mut found, mut buffer) = (Md5::new(), 0, vec![0; 1 << 18]);
    loop {
        let read = content.read(&mut buffer).with_context(|| at.to_string())?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        found += read as u64;
    }
    let bytes = file.bytes.unwrap_or(found);
    ensure!(found == bytes, "{at}: {found} bytes, but the file has {bytes}");
    let found: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    let published = file.md5;
    ensure!(
        found.eq_ignore_ascii_case(published),
        "{at}: its MD5 is {found}, published is {published}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_can_be_verified_and_found() {
        for entry in catalogue() {
            assert_eq!(find(entry.name).unwrap().title, entry.title);
            for file in &entry.files {
                let hex = file.md5.bytes().filter(u8::is_ascii_hexdigit).count();
                let address = file.url.map_or(!entry.by_hand.is_empty(), |u| {
                    u.starts_with("https://") && u.contains(file.name)
                });
                assert!(hex == 32 && file.md5.len() == 32 && address, "{file:?}");
            }
        }
        let error = find("idtree").unwrap_err().to_string();
        assert!(error.contains("idtrees, for-species20k"), "{error}");
    }
}
