//! `cargo course pack`: writes the archive that a student hands in.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use grader::{paths, source::refuse_unsafe, tell::wrap};
use jiff::Timestamp;

use crate::{
    lessons::{self, Lesson},
    marks::put,
    submission::{Rejected, Submission},
};

/// Options of `cargo course pack`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo course pack\n  cargo course pack --lesson 01,02 --out anna.tar.gz"
)]
pub struct Options {
    /// Archive to write
    #[arg(long, value_name = "FILE.tar.gz", default_value = "submission.tar.gz")]
    out: PathBuf,
    /// Lessons to pack, such as `01,02` [default: all]
    #[arg(long, value_name = "NN", value_delimiter = ',')]
    lesson: Vec<String>,
}

/// Packs the exercises and prints a summary.
///
/// # Errors
/// Returns an error if a lesson does not exist, there is nothing or too much to pack, or a file cannot be read or
/// written.
pub fn run(root: &Path, lessons: &[Lesson], options: &Options) -> Result<()> {
    let chosen = options.lesson.iter().map(|name| lessons::lesson(lessons, name));
    let mut chosen = chosen.collect::<Result<Vec<_>>>()?;
    if chosen.is_empty() {
        chosen.extend(lessons);
    }
    let numbers: Vec<&str> = chosen.iter().map(|lesson| &*lesson.manifest.lesson).collect();
    pack(root, &options.out, &numbers)
}

/// The same for lessons by their numbers, or for the capstone.
pub fn pack(root: &Path, out: &Path, lessons: &[&str]) -> Result<()> {
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    ensure!(
        name.ends_with(".tar.gz") || name.ends_with(".tgz"),
        "the name of the archive must end in .tar.gz or .tgz, unlike {}",
        out.display()
    );
    let mut submission = Submission::default();
    let mut warnings = Vec::new();
    for lesson in lessons {
        let folder = format!("exercises/{}/src", paths::folder(lesson));
        let taken = submission.folder(root, &folder);
        taken.map_err(|Rejected(_, why)| anyhow!("{folder} cannot be packed: {why}"))?;
        let library = format!("{folder}/lib.rs");
        let left_out = || submission.left_out.iter().find(|line| line.starts_with(&library));
        ensure!(
            submission.files.contains_key(&library),
            "{}",
            left_out().unwrap_or(&format!(
                "{library} does not exist; restore it, or name other lessons with --lesson"
            ))
        );
    }
    for (path, text) in &submission.files {
        let code = if path.ends_with(".toml") { "" } else { &**text };
        match refuse_unsafe(path, code) {
            Err(refused) if refused.is_certain => bail!(refused.why),
            // The compiler says what is wrong here.
            Err(refused) => warnings.push(refused.why),
            Ok(()) => println!("  {:>7} bytes  {path}", text.len()),
        }
    }
    submission.packed = u64::try_from(Timestamp::now().as_second()).ok();
    let archive = submission.to_archive()?;
    put(out, &archive).with_context(|| out.display().to_string())?;
    warnings.extend(submission.left_out.iter().map(|line| format!("left out: {line}")));
    for line in warnings
        .iter()
        .flat_map(|warning| wrap(&format!("warning: {warning}"), 80))
    {
        println!("{}", console::style(line).yellow());
    }
    println!("\n{}: {} bytes. Hand in this file.", out.display(), archive.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sources_are_packed_and_what_is_wrong_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let lessons = lessons::all(&paths::root().unwrap()).unwrap();
        let put = |path: &str, text: &str| put(&root.join(path), text).unwrap();
        let pack = |name: &str, lesson: &str| {
            let (out, lesson) = (root.join(name), vec![lesson.to_owned()]);
            run(root, &lessons, &Options { out, lesson }).map_err(|e| format!("{e:#}"))
        };
        let library = "exercises/lesson01/src/lib.rs";
        for (name, lesson, text, expected) in [
            ("a.zip", "01", "", ".tar.gz"),
            ("a.tar.gz", "99", "", "no lesson 99"),
            ("a.tar.gz", "02", "", "lesson02/src/lib.rs does not exist"),
            (
                "a.tgz",
                "1",
                "unsafe",
                "src/lib.rs, line 1: `unsafe` is not allowed",
            ),
        ] {
            put(library, text);
            let error = pack(name, lesson).unwrap_err();
            assert!(error.contains(expected) && !root.join(name).exists(), "{error}");
        }
        // What the compiler refuses is packed: it says what is wrong.
        put(library, "pub fn halve( {");
        put("exercises/lesson01/src/notes.txt", "mine");
        pack("a.tar.gz", "01").unwrap();
        let packed = Submission::read(&root.join("a.tar.gz")).unwrap();
        assert_eq!(Vec::from_iter(packed.files.keys()), [library]);
        assert!(packed.packed.is_some() && packed.left_out.is_empty());
        put("exercises/capstone/src/lib.rs", "");
        put("exercises/capstone/src/config.toml", "# unsafe");
        let out = root.join("race.tar.gz");
        super::pack(root, &out, &[paths::CAPSTONE]).unwrap();
        let packed = Submission::read(&out).unwrap();
        assert_eq!(packed.of_lesson(paths::CAPSTONE).len(), 2);
    }
}
