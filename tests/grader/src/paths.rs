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

/// What the capstone has in the place of a lesson's number.
pub const CAPSTONE: &str = "capstone";

/// The folder of a lesson in `lessons` and `exercises`.
pub fn folder(lesson: &str) -> String {
    match lesson {
        CAPSTONE => lesson.to_owned(),
        number => format!("lesson{number}"),
    }
}

/// A file that the student edits, relative to the root.
pub fn exercises(lesson: &str, file: &str) -> String {
    format!("exercises/{}/src/{file}", folder(lesson))
}

/// The same file as it was handed out, relative to the root.
pub fn stubs(lesson: &str, file: &str) -> String {
    let file = if file == LIBRARY { "stubs.rs" } else { file };
    format!("lessons/lesson{lesson}/src/{file}")
}
