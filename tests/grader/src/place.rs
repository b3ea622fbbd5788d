//! Where things lie in the project.

use std::path::{Path, PathBuf};

/// The project's root, from the folder a program was started in or one above it.
pub fn root() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let is_root = |p: &&Path| p.join("exercises").is_dir() && p.join("lessons").is_dir();
    here.ancestors().find(is_root).map(Path::to_owned)
}

/// What the student writes, from the root.
pub fn exercises(lesson: &str) -> String {
    format!("exercises/lesson{lesson}/src/lib.rs")
}

/// The same as it was handed out, from the root.
pub fn stubs(lesson: &str) -> String {
    format!("lessons/lesson{lesson}/src/stubs.rs")
}
