//! Public data sets by name: where their files are, how long, under which licence, and with which checksum.

use std::{fs, io::Read, path::Path, sync::LazyLock};

use anyhow::{Context, Result, ensure};
use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};

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
    fn a_file_of_another_length_or_content_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        // RFC 1321, appendix A.5.
        let file = |bytes| File {
            name: "a",
            url: None,
            bytes,
            md5: "900150983CD24FB0D6963F7D28E17F72",
        };
        for (content, bytes, part) in [("abcd", Some(3), "4 bytes"), ("abd", None, "MD5")] {
            fs::write(&path, content).unwrap();
            let error = verify(&path, &file(bytes)).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        fs::write(&path, "abc").unwrap();
        verify(&path, &file(Some(3))).unwrap();
    }

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
