//! The version of the course, and a digest of all files that marks depend on.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use grader::grades::Course;
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

/// Version and digest of the course in `root`. The digest covers lessons, solutions, data, grader, `cargo course`, the
/// versions of the dependencies and the `Cargo.toml` files of the exercises, but neither what students write nor build
/// outputs.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub fn course(root: &Path) -> Result<Course> {
    let counted = [
        "Cargo.toml",
        "Cargo.lock",
        "lessons",
        "data/Cargo.toml",
        "data/src",
        "solutions/Cargo.toml",
        "solutions/src",
        "tests/course",
        "tests/grader",
        "tests/kit",
    ];
    let mut paths = counted
        .map(|path| files(&root.join(path)))
        .into_iter()
        .collect::<Result<Vec<_>>>()?
        .concat();
    let exercises = files(&root.join("exercises"))?;
    paths.extend(exercises.into_iter().filter(|path| path.ends_with("Cargo.toml")));
    let mut sums = Vec::new();
    for path in paths {
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        sums.push((name(root, &path), sha256(&bytes)));
    }
    Ok(Course {
        version: env!("CARGO_PKG_VERSION").into(),
        digest: digest(sums),
    })
}

/// Lists `path` if it is a file, or else the files below it, without links, hidden files and build outputs.
pub fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let is_source = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        // Cargo's folder is beside a manifest; a module may be called `target` as well.
        let built = name == "target" && entry.path().with_file_name("Cargo.toml").is_file();
        entry.depth() == 0 || !(name.starts_with('.') || built || name == "__pycache__")
    };
    let mut files = Vec::new();
    for entry in WalkDir::new(path).into_iter().filter_entry(is_source) {
        let entry = entry?;
        if entry.file_type().is_file() {
            files.push(entry.into_path());
        }
    }
    Ok(files)
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

    #[test]
    fn the_digest_changes_with_what_marks_depend_on_and_with_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            course(dir.path())
        };
        let counted = [
            "Cargo.toml",
            "Cargo.lock",
            "data/Cargo.toml",
            "data/src/split/groups.rs",
            "lessons/lesson01/lesson.toml",
            "solutions/Cargo.toml",
            "solutions/src/target/mod.rs",
            "tests/course/src/main.rs",
            "tests/grader/src/lib.rs",
            "tests/kit/src/lib.rs",
            "exercises/lesson01/Cargo.toml",
        ];
        let first = counted
            .map(|path| put(path, "one"))
            .into_iter()
            .next_back()
            .unwrap()
            .unwrap();
        for path in [
            "exercises/lesson01/src/lib.rs",
            "solutions/target/debug/x",
            "solutions/results/idtrees.md",
            "lessons/.cache/x",
        ] {
            assert_eq!(put(path, "not counted").unwrap(), first, "{path}");
        }
        for path in counted {
            assert_ne!(put(path, "two").unwrap(), first, "{path}");
            assert_eq!(put(path, "one").unwrap(), first, "{path}");
        }
    }
}
