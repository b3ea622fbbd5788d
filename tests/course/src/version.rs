//! The version of the course, and a digest of all that marks depend on.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use grader::grades::Course;
use sha2::{Digest, Sha256};
use walkdir::{DirEntry, WalkDir};

/// The files and folders whose content is in the digest, beside the manifests of the exercises.
const COUNTED: [&str; 12] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "lessons",
    "data/Cargo.toml",
    "data/src",
    "solutions/Cargo.toml",
    "solutions/src",
    "tests/course",
    "tests/grader",
    "tests/grid",
    "tests/kit",
];

/// Version and digest of the course in `root`. The digest covers lessons, solutions, data, grader, grid, `cargo course`,
/// the toolchain, the versions of the dependencies, the `Cargo.toml` files of the exercises, and the `limits` of an answer, but
/// neither what students write nor build outputs.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub fn course(root: &Path, limits: &[(&str, u64)]) -> Result<Course> {
    let sum = |(name, value): &(&str, u64)| (name.to_string(), sha256(value.to_string().as_bytes()));
    let mut sums: Vec<_> = limits.iter().map(sum).collect();
    for folder in COUNTED.iter().chain(&["exercises"]) {
        for entry in sources(&root.join(folder)) {
            let entry = entry?;
            let path = entry.path();
            let of_student = *folder == "exercises" && !path.ends_with("Cargo.toml");
            if entry.file_type().is_file() && !of_student {
                let bytes = fs::read(path).with_context(|| path.display().to_string())?;
                sums.push((name(root, path), sha256(&bytes)));
            }
        }
    }
    Ok(Course {
        version: env!("CARGO_PKG_VERSION").into(),
        digest: digest(sums),
    })
}

/// The file or folder `path` and what is in it, without hidden files and build outputs.
pub fn sources(path: &Path) -> impl Iterator<Item = walkdir::Result<DirEntry>> {
    let is_source = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        // Cargo's folder is beside a manifest; a module may be called `target` as well.
        let built = name == "target" && entry.path().with_file_name("Cargo.toml").is_file();
        entry.depth() == 0 || !(name.starts_with('.') || built || name == "__pycache__")
    };
    WalkDir::new(path).into_iter().filter_entry(is_source)
}

/// The path from the root, with `/` on every system.
pub fn name(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = inside.iter().map(|p| p.to_string_lossy()).collect();
    parts.join("/")
}

/// One digest of many files, given with their paths and their SHA-256, which does not depend on their order: the
/// SHA-256 of the lines `SHA256  PATH`, sorted by path, in the format of `sha256sum`.
pub fn digest(mut files: Vec<(String, String)>) -> String {
    files.sort_unstable();
    let lines = files.iter().map(|(path, sum)| format!("{sum}  {path}\n"));
    sha256(lines.collect::<String>().as_bytes())
}

/// SHA-256 of `bytes`, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// `bytes` in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::put;

    #[test]
    fn the_digest_changes_with_what_marks_depend_on_and_with_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| put(&dir.path().join(path), text).unwrap();
        let with = |memory| course(dir.path(), &[("--memory", memory), ("--seconds", 60)]);
        let inside = ["lesson01/lesson.toml", "src/target/mod.rs", "Cargo.toml"];
        let file = |path: &&str| match path.rsplit_once('/').unwrap_or(("", path)).1.contains('.') {
            true => vec![(*path).to_owned()],
            false => inside.map(|name| format!("{path}/{name}")).into(),
        };
        let mut counted: Vec<String> = COUNTED.iter().flat_map(file).collect();
        counted.push("exercises/lesson01/Cargo.toml".into());
        counted.iter().for_each(|path| put(path, "one"));
        let first = with(1024).unwrap();
        for path in [
            "exercises/lesson01/src/lib.rs",
            "solutions/target/debug/x",
            "solutions/results/idtrees.md",
            "lessons/.cache/x",
        ] {
            put(path, "not counted");
            assert_eq!(with(1024).unwrap(), first, "{path}");
        }
        for path in &counted {
            put(path, "two");
            assert_ne!(with(1024).unwrap(), first, "{path}");
            put(path, "one");
        }
        assert_eq!(with(1024).unwrap(), first);
        assert_ne!(with(512).unwrap(), first);
    }
}
