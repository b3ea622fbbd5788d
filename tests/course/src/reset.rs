//! Restores the empty function of an exercise, and keeps a copy of the student's file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use grader::{Exercise, paths, progress};

use crate::lessons::Lesson;

/// Restores the stub of `exercise` and returns the path of a copy of the whole file.
pub fn reset(root: &Path, lesson: &Lesson, exercise: &Exercise) -> Result<String> {
    let file = paths::exercises(&lesson.manifest.lesson);
    let path = root.join(&file);
    let now = fs::read_to_string(&path).with_context(|| format!("{file} cannot be read"))?;
    let fresh = replaced(&now, &lesson.stubs, &exercise.function).with_context(|| {
        format!(
            "`pub fn {}` was not found complete in {file}; copy it by hand from {}",
            exercise.function,
            paths::stubs(&lesson.manifest.lesson)
        )
    })?;
    let kept = free(root, &format!(".course/kept/{}", exercise.id));
    if let Some(folder) = kept.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&kept, &now).context("no copy could be written, so nothing was changed")?;
    fs::write(&path, fresh).with_context(|| format!("{file} cannot be written"))?;
    // The results were those of the function that is replaced.
    progress::change(|p| p.checks.remove(&exercise.id)).context("your progress could not be saved")?;
    let kept = kept.strip_prefix(root).unwrap_or(&kept);
    Ok(kept.display().to_string())
}

/// `STEM-1.rs`, or the first of `STEM-2.rs` … that does not exist.
fn free(root: &Path, stem: &str) -> PathBuf {
    (1..)
        .map(|n| root.join(format!("{stem}-{n}.rs")))
        .find(|p| !p.exists())
        .unwrap_or_else(|| root.join(stem))
}

/// Returns `text` with its function `name` as in `stubs`, or nothing if one of them does not contain it complete.
fn replaced(text: &str, stubs: &str, name: &str) -> Option<String> {
    let (from, to) = span(text, name)?;
    let (a, b) = span(stubs, name)?;
    Some(format!("{}{}{}", &text[..from], &stubs[a..b], &text[to..]))
}

/// From `pub fn name` to its closing line: formatted Rust closes an item with a brace at the start of a line.
fn span(text: &str, name: &str) -> Option<(usize, usize)> {
    let from = ["(", "<"]
        .iter()
        .find_map(|open| text.find(&format!("\npub fn {name}{open}")))?
        + 1;
    let closing = text[from..].find("\n}")?;
    let next = text[from + 1..].find("\npub fn ").map_or(usize::MAX, |n| n + 1);
    (closing < next).then_some((from, from + closing + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUBS: &str = "//! x\n\n/// A.\npub fn a() {\n    todo!()\n}\n\n/// B.\npub fn b<T>(\n    t: T,\n) {\n    todo!()\n}\n";

    #[test]
    fn only_the_function_of_the_exercise_is_restored() {
        let mine = STUBS.replace("todo!()", "if 1 > 0 {\n        work();\n    }") + "\nfn helper() {}\n";
        let fresh = replaced(&mine, STUBS, "a").unwrap();
        assert!(
            fresh.contains("pub fn a() {\n    todo!()\n}\n\n/// B.\npub fn b<T>"),
            "{fresh}"
        );
        assert_eq!(fresh.matches("work()").count(), 1);
        assert!(fresh.ends_with("fn helper() {}\n"));
        assert_eq!(
            replaced(&fresh, STUBS, "b").unwrap(),
            format!("{STUBS}\nfn helper() {{}}\n")
        );
    }

    #[test]
    fn an_incomplete_function_is_not_replaced() {
        for broken in [
            "",
            "\npub fn a() { todo!()",
            "\npub fn a() {\n  x\n\npub fn b() {\n}\n",
        ] {
            assert!(replaced(broken, STUBS, "a").is_none(), "{broken}");
        }
    }
}
