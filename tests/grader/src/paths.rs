//! Paths within the project.

use std::path::{Path, PathBuf};

/// The project's root: the current directory, or the nearest one above it that contains exercises and lessons.
pub fn root() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let is_root = |p: &&Path| p.join("exercises").is_dir() && p.join("lessons").is_dir();
    here.ancestors().find(is_root).map(Path::to_owned)
}

/// The file in which the functions of a lesson are written; a kernel has a file of its own.
pub const LIBRARY: &str = "lib.rs";

/// A file that the student edits, relative to the root.
pub fn exercises(lesson: &str, file: &str) -> String {
    format!("exercises/lesson{lesson}/src/{file}")
}

/// The same file as it was handed out, relative to the root.
pub fn stubs(lesson: &str, file: &str) -> String {
    let file = if file == LIBRARY { "stubs.rs" } else { file };
    format!("lessons/lesson{lesson}/src/{file}")
}
