//! The known public data sets.

use anyhow::{Context, Result};

/// A published data set.
#[derive(Debug)]
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
    pub files: &'static [File],
    /// What the user must do by hand; empty: nothing.
    pub by_hand: &'static str,
}

/// A file of a data set.
#[derive(Debug)]
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

static ENTRIES: [Entry; 4] = [
    Entry {
        name: "idtrees",
        title: "IDTReeS 2020: airborne trees of two forests of the eastern United States, 33 taxa",
        citation: "IDTReeS 2020, Zenodo, record 3934932",
        page: "https://zenodo.org/records/3934932",
        licence: "CC-BY-4.0",
        files: &[File {
            name: "IDTREES_competition_train_v2.zip",
            url: Some("https://zenodo.org/records/3934932/files/IDTREES_competition_train_v2.zip?download=1"),
            bytes: None,
            md5: "5ddfa76240b4bb6b4a7861d1d31c299c",
        }],
        by_hand: "",
    },
    Entry {
        name: "for-species20k",
        title: "FOR-species20K: 20,000 trees of 33 species by TLS, MLS and ULS",
        citation: "Puliti et al. 2025, FOR-species20K, Zenodo, record 13255198",
        page: "https://zenodo.org/records/13255198",
        licence: "GPL-3",
        files: &[
            File {
                name: "tree_metadata_dev.csv",
                url: Some("https://zenodo.org/records/13255198/files/tree_metadata_dev.csv?download=1"),
                bytes: Some(1_216_814),
                md5: "603c91ff58c8eab486717ffc82a1b21f",
            },
            File {
                name: "dev.zip",
                url: Some("https://zenodo.org/records/13255198/files/dev.zip?download=1"),
                bytes: Some(25_354_980_290),
                md5: "ecb6196d9d630b095e6f6249b46efdd7",
            },
            File {
                name: "test.zip",
                url: Some("https://zenodo.org/records/13255198/files/test.zip?download=1"),
                bytes: Some(1_844_174_259),
                md5: "087eaed01d45bf83643b4d7edcef33f8",
            },
        ],
        by_hand: "",
    },
    Entry {
        name: "stpctls",
        title: "STPCTLS: 691 trees of seven species by terrestrial laser scanner",
        citation: "Seidel et al. 2021, doi 10.25625/FOHUJM",
        page: "https://doi.org/10.25625/FOHUJM",
        licence: "",
        files: &[],
        by_hand: "Its files are known by the DOI only. Open the page in a browser, read the licence, and download all \
                  species folders (Buche, Douglasie, Eiche, Esche, Fichte, Kiefer, Roteiche) into one folder; then \
                  run `canopy data import stpctls FOLDER --out stpctls`.",
    },
    Entry {
        name: "biodiv-3dtrees",
        title: "BioDiv-3DTrees: trees by drone (ULS) with labels.csv",
        citation: "BioDiv-3DTrees",
        page: "",
        licence: "CC-BY-4.0",
        files: &[
            File {
                name: "labels.csv",
                url: None,
                bytes: None,
                md5: "a09d1dfb60145313a950354124dcd925",
            },
            File {
                name: "ULS.tar.zst",
                url: None,
                bytes: Some(652_222_562),
                md5: "4dc25e7b151e8ce596cca866b2e53ee6",
            },
        ],
        by_hand: "No direct address is known here. Find the data set by its name, download its files into one folder, and \
                  run this command again with --out FOLDER: it then checks them. Unpack with `tar --zstd -xf \
                  ULS.tar.zst`, and import with `canopy data import csv labels.csv`.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_can_be_verified_and_found() {
        for entry in catalogue() {
            assert_eq!(find(entry.name).unwrap().title, entry.title);
            for file in entry.files {
                assert_eq!(file.md5.len(), 32, "{}", file.name);
                assert!(file.md5.bytes().all(|b| b.is_ascii_hexdigit()));
                assert!(
                    file.url
                        .is_none_or(|u| u.starts_with("https://") && u.contains(file.name))
                );
                assert!(file.url.is_some() || !entry.by_hand.is_empty());
            }
        }
        let error = find("idtree").unwrap_err().to_string();
        assert!(error.contains("idtrees, for-species20k"), "{error}");
    }
}
