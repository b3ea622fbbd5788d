//! File formats, shards, importers and downloads.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod fetch;
mod idtrees;
mod importers;
#[path = "../made/mod.rs"]
mod made;
mod python;
mod readers;
mod real_files;
mod round_trip;

use std::{
    env,
    path::{Path, PathBuf},
};

/// Checks that `text` contains all of `parts`.
#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

/// The folder `name` of real data, in `CANOPY_REALDATA` or in `shared/realdata` beside the repository.
fn real_data(name: &str) -> Option<PathBuf> {
    let root = match env::var_os("CANOPY_REALDATA") {
        Some(dir) => PathBuf::from(dir),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/realdata"),
    };
    let dir = root.join(name);
    if !dir.is_dir() {
        println!(
            "not run, because {} does not exist: set CANOPY_REALDATA",
            dir.display()
        );
        return None;
    }
    Some(dir)
}
