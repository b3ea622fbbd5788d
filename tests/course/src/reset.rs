//! Restores the empty function of an exercise, or the file of a kernel, and keeps a copy of the student's file.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use grader::{Exercise, paths, progress};

use crate::{extract, lessons::Lesson};

/// Restores the stub of `exercise` and returns the path of a copy of the whole file.
pub fn reset(root: &Path, lesson: &Lesson, exercise: &Exercise) -> Result<String> {
    let (stubs, function) = (lesson.stub(exercise), &exercise.function);
    let file = paths::exercises(&lesson.manifest.lesson, &exercise.file);
    let path = root.join(&file);
    let now = fs::read_to_string(&path).with_context(|| format!("{file} cannot be read"))?;
    let fresh = match &*exercise.file {
        paths::LIBRARY => replaced(&now, stubs, function),
        _ => Some(stubs.to_owned()).filter(|text| !text.is_empty()),
    };
    let fresh = fresh.with_context(|| {
        format!(
            "`{function}` was not found complete in {file}; copy it by hand from {}",
            paths::stubs(&lesson.manifest.lesson, &exercise.file)
        )
    })?;
    fs::create_dir_all(root.join(".course/kept"))?;
    let ending = exercise.file.rsplit('.').next().unwrap_or_default();
    let mut names = (1..).map(|n| format!(".course/kept/{}-{n}.{ending}", exercise.id));
    let kept = names.find(|name| !root.join(name).exists()).unwrap_or_default();
    fs::write(root.join(&kept), &now).context("no copy could be written, so nothing was changed")?;
    fs::write(&path, fresh).with_context(|| format!("{file} cannot be written"))?;
    // The results were those of the function that is replaced.
    progress::change(|p| p.checks.remove(&exercise.id)).context("your progress could not be saved")?;
    Ok(kept)
}

/// Returns `text` with its function `name` as in `stubs`, or nothing if one of them does not contain it complete. The file's
/// line ends stay.
fn replaced(text: &str, stubs: &str, name: &str) -> Option<String> {
    // A method may have the name of the exercise's function.
    let is_wanted = |f: &extract::Function| f.name == name && f.indent.is_empty();
    let find = |source| extract::functions(source).into_iter().find(is_wanted);
    let (old, new) = (find(text)?.bytes, find(stubs)?.bytes);
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let stub = stubs[new].lines().collect::<Vec<_>>().join(line_end);
    Some([&text[..old.start], &stub, &text[old.end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_function_of_the_exercise_is_restored() {
        let stubs =
            "//! x\n\n/// A.\npub fn a() {\n    todo!()\n}\n\n/// B.\npub fn b<T>(t: T) {\n    todo!()\n}\n";
        let mine = stubs.replace("todo!()", "if 1 > 0 {\n        work();\n    }") + "\nfn helper() {}\n";
        let (first, rest) = mine.split_once("/// B.").unwrap();
        let fresh = replaced(&mine, stubs, "a").unwrap();
        assert_eq!(
            fresh,
            stubs.split_once("/// B.").unwrap().0.to_owned() + "/// B." + rest
        );
        let method = "impl Own {\n    pub fn a() {\n        work();\n    }\n}\n\n";
        let own = replaced(&(method.to_owned() + &mine), stubs, "a").unwrap();
        assert_eq!(own, method.to_owned() + &fresh);
        // The braces of another function need not balance.
        let broken = first.replace("    }\n", "") + "/// B." + rest;
        assert!(
            replaced(&broken, stubs, "b")
                .unwrap()
                .ends_with("todo!()\n}\n\nfn helper() {}\n")
        );
        let windows = |text: &str| text.replace('\n', "\r\n");
        for stubs in [stubs, &windows(stubs)] {
            assert_eq!(replaced(&windows(&mine), stubs, "a").unwrap(), windows(&fresh));
            assert_eq!(replaced(&mine, stubs, "a").unwrap(), fresh);
        }
        for broken in ["", "pub fn a() { todo!()", "pub fn c() {}"] {
            assert!(replaced(broken, stubs, "a").is_none(), "{broken}");
        }
    }
}
