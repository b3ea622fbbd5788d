//! Restores the empty function or kernel of an exercise, and keeps a copy of the student's file.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use grader::{Exercise, item, paths, progress};

use crate::{lessons::Lesson, marks::put};

/// Restores the stub of `exercise` and returns the path of a copy of the whole file.
pub fn reset(root: &Path, lesson: &Lesson, exercise: &Exercise) -> Result<String> {
    let (stubs, function) = (lesson.stub(exercise), &exercise.function);
    let file = paths::exercises(&lesson.manifest.lesson, &exercise.file);
    let path = root.join(&file);
    let now = fs::read_to_string(&path).with_context(|| format!("{file} cannot be read"))?;
    let fresh = replaced(&now, stubs, function);
    let fresh = fresh.with_context(|| {
        format!(
            "`{function}` was not found complete in {file}; copy it by hand from {}",
            paths::stubs(&lesson.manifest.lesson, &exercise.file)
        )
    })?;
    let ending = exercise.file.rsplit('.').next().unwrap_or_default();
    let mut names = (1..).map(|n| format!(".course/kept/{}-{n}.{ending}", exercise.id));
    let kept = names.find(|name| !root.join(name).exists()).unwrap_or_default();
    put(&root.join(&kept), &now).context("nothing was changed")?;
    put(&path, fresh)?;
    // The results were those of the function that is replaced.
    progress::change(|p| p.checks.remove(&exercise.id)).context("your progress could not be saved")?;
    Ok(kept)
}

/// Returns `text` with its function or kernel `name` as in `stubs`, or nothing if one of them does not contain it complete.
fn replaced(text: &str, stubs: &str, name: &str) -> Option<String> {
    let (old, new) = (item(text, name)?, item(stubs, name)?);
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let (text, stubs) = (Vec::from_iter(text.lines()), Vec::from_iter(stubs.lines()));
    let lines = [&text[..old.start], &stubs[new], &text[old.end..]].concat();
    Some(lines.join(line_end) + line_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_function_of_the_exercise_is_restored() {
        for of in ["pub fn ", "extern \"C\" __global__ void "] {
            let stub = |name| format!("/// The contract.\n{of}{name}(int x) {{\n    todo!()\n}}\n");
            let stubs = format!("// x\n\n{}\n{}", stub("a"), stub("b"));
            let mine = stubs.replace("todo!()", "if (1) {\n        work();\n    }");
            let method = "impl Own {\n    pub fn a() {\n        work();\n    }\n}\n\n";
            let (first, second) = mine.split_at(mine.rfind("///").unwrap());
            let fresh = format!("{method}// x\n\n{}\n{second}", stub("a"));
            let windows = |text: &str| text.replace('\n', "\r\n");
            let mine = format!("{method}{first}{second}");
            for stubs in [&stubs, &windows(&stubs)] {
                assert_eq!(replaced(&mine, stubs, "a").unwrap(), fresh);
                assert_eq!(replaced(&windows(&mine), stubs, "a").unwrap(), windows(&fresh));
            }
            // The braces of another function need not balance.
            let broken = format!("{}{second}", first.replace("    }\n", ""));
            assert!(replaced(&broken, &stubs, "b").unwrap().ends_with(&stub("b")));
            for broken in ["", "pub fn a() { todo!()", "pub fn c() {}"] {
                assert!(replaced(broken, &stubs, "a").is_none(), "{broken}");
            }
        }
    }
}
