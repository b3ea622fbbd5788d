//! The version of the course, and a digest of all files that marks depend on.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use grader::grades::Course;

use crate::submission::{digest, sha256};

/// Version and digest of the course in `root`. The digest covers lessons, solutions, data, grader, `cargo course`, the versions
/// of the dependencies and the `Cargo.toml` files of the exercises, but neither what students write nor build outputs.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub fn course(root: &Path) -> Result<Course> {
    let files = [
        "Cargo.toml",
        "Cargo.lock",
        "data/Cargo.toml",
        "solutions/Cargo.toml",
    ];
    let mut paths = files.map(|file| root.join(file)).to_vec();
    for folder in [
        "lessons",
        "data/src",
        "solutions/src",
        "tests/course",
        "tests/grader",
        "tests/kit",
    ] {
        walk(&root.join(folder), &mut paths)?;
    }
    let exercises = root.join("exercises");
    for entry in fs::read_dir(&exercises).with_context(|| exercises.display().to_string())? {
        let manifest = entry?.path().join("Cargo.toml");
        if manifest.is_file() {
            paths.push(manifest);
        }
    }
    let mut files = Vec::new();
    for path in paths {
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        files.push((name(root, &path), sha256(&bytes)));
    }
    Ok(Course {
        version: env!("CARGO_PKG_VERSION").into(),
        digest: digest(files.iter().map(|(path, sum)| (&**path, &**sum))),
    })
}

/// Lists regular files below `folder`, without links, hidden files and build outputs.
pub fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let (kind, name) = (entry.file_type()?, entry.file_name());
        let name = name.to_string_lossy();
        // Cargo's folder is beside a manifest; a module may be called `target` as well.
        let built = name == "target" && folder.join("Cargo.toml").is_file();
        if name.starts_with('.') || built || name == "__pycache__" {
            continue;
        }
        if kind.is_dir() {
            walk(&entry.path(), found)?;
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// The path from the root, with `/` on every system.
pub fn name(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = inside.iter().map(|p| p.to_string_lossy()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_digest_changes_with_what_marks_depend_on_and_with_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let counted = [
            "Cargo.toml",
            "Cargo.lock",
            "data/Cargo.toml",
            "data/src/split/groups.rs",
            "lessons/lesson01/lesson.toml",
            "solutions/Cargo.toml",
            "solutions/src/lib.rs",
            "solutions/src/target/mod.rs",
            "tests/course/src/main.rs",
            "tests/grader/src/lib.rs",
            "tests/kit/src/lib.rs",
            "exercises/lesson01/Cargo.toml",
        ];
        for path in counted {
            put(root, path, "one");
        }
        let first = course(root).unwrap();
        assert_eq!(first.digest.len(), 64);
        put(root, "exercises/lesson01/src/lib.rs", "a student's");
        put(root, "solutions/target/debug/x", "built");
        put(root, "lessons/.cache/x", "hidden");
        assert_eq!(course(root).unwrap(), first);
        put(root, "solutions/results/idtrees.md", "text");
        assert_eq!(course(root).unwrap(), first);
        for path in counted {
            put(root, path, "two");
            assert_ne!(course(root).unwrap(), first, "{path}");
            put(root, path, "one");
        }
        put(root, "lessons/lesson01/src/new.rs", "");
        assert_ne!(course(root).unwrap(), first);
        assert!(course(&root.join("nowhere")).is_err());
    }
}
