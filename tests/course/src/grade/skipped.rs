//! Decides which entries beside the submissions of a class are not submissions. Each of them is printed with its reason.

use std::{fs, path::Path};

use super::{archive::is_archive, placed::is_litter, platform};
use crate::marks;

/// Why an entry of a class is not a submission.
pub fn no_submission(name: &str, path: &Path, out: &Path) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let sheet = [".csv", ".yml", ".yaml"].iter().any(|e| lower.ends_with(e)) && path.is_file();
    let by_platform = platform::moodle(name).is_some() || platform::canvas(name).is_some();
    match () {
        () if is_litter(name) => Some("a file manager wrote it"),
        () if name.starts_with('.') => Some("its name begins with a dot; rename it to grade it"),
        // Rosters and Gradescope's metadata are beside the submissions.
        () if sheet && !by_platform => Some("a table or metadata is not a submission"),
        () if path == out => Some("the grades are written there"),
        () if (out.starts_with(path) || has_grades(path)) && !has_answers(path, out) => {
            Some("it contains grades, and no answers")
        }
        () => None,
    }
}

/// Whether a folder looks like one that an earlier run wrote. A student can hand in such a folder, too.
fn has_grades(folder: &Path) -> bool {
    let plain = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    let visible = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut visible = visible.filter(|e| !e.file_name().to_string_lossy().starts_with('.'));
    let ours = |name: &str| marks::OWN.contains(&name);
    plain(&folder.join(".seed"))
        && visible.all(|e| ours(&e.file_name().to_string_lossy()) || plain(&e.path().join("grade.json")))
}

/// Whether any file in a folder, except those in `out`, could be an answer or contain one.
fn has_answers(folder: &Path, out: &Path) -> bool {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().to_lowercase());
            match entry.file_type() {
                _ if path == out => {}
                Ok(kind) if kind.is_dir() => folders.push(path),
                _ if name.ends_with(".rs") || is_archive(&name) => return true,
                _ => {}
            }
        }
    }
    false
}
