//! Restores the empty function of an exercise, and keeps a copy of the student's file.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use grader::{Exercise, paths, progress};

use crate::{extract, lessons::Lesson};

/// Restores the stub of `exercise` and returns the path of a copy of the whole file.
pub fn reset(root: &Path, lesson: &Lesson, exercise: &Exercise) -> Result<String> {
    let file = paths::exercises(&lesson.manifest.lesson);
    let path = root.join(&file);
    let now = fs::read_to_string(&path).with_context(|| format!("{file} cannot be read"))?;
    let fresh = replaced(&now, &lesson.stubs, &exercise.function).with_context(|| {
        format!(
            "`fn {}` was not found complete in {file}; copy it by hand from {}",
            exercise.function,
            paths::stubs(&lesson.manifest.lesson)
        )
    })?;
    fs::create_dir_all(root.join(".course/kept"))?;
    let names = (1..).map(|n| format!(".course/kept/{}-{n}.rs", exercise.id));
    let kept = names
        .into_iter()
        .find(|name| !root.join(name).exists())
        .unwrap_or_default();
    fs::write(root.join(&kept), &now).context("no copy could be written, so nothing was changed")?;
    fs::write(&path, fresh).with_context(|| format!("{file} cannot be written"))?;
    // The results were those of the function that is replaced.
    progress::change(|p| p.checks.remove(&exercise.id)).context("your progress could not be saved")?;
    Ok(kept)
}

/// Returns `text` with its function `name` as in `stubs`, or nothing if one of them does not contain it complete.
fn replaced(text: &str, stubs: &str, name: &str) -> Option<String> {
    let (old, new) = (
        extract::function(text, name)?.all,
        extract::function(stubs, name)?.all,
    );
    Some([&text[..old.start], &stubs[new], &text[old.end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_function_of_the_exercise_is_restored() {
        let stubs =
            "//! x\n\n/// A.\npub fn a() {\n    todo!()\n}\n\n/// B.\npub fn b<T>(t: T) {\n    todo!()\n}\n";
        let mine = stubs.replace("todo!()", "if 1 > 0 {\n        work();\n    }") + "\nfn helper() {}\n";
        let fresh = replaced(&mine, stubs, "a").unwrap();
        assert!(
            fresh.contains("pub fn a() {\n    todo!()\n}\n\n/// B."),
            "{fresh}"
        );
        assert_eq!(fresh.matches("work()").count(), 1);
        let both = format!("{stubs}\nfn helper() {{}}\n");
        assert_eq!(replaced(&fresh, stubs, "b").unwrap(), both);
        for broken in ["", "pub fn a() { todo!()", "pub fn c() {}"] {
            assert!(replaced(broken, stubs, "a").is_none(), "{broken}");
        }
    }
}
