//! `cargo course pack`: writes the archive that a student hands in.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use grader::{
    paths,
    source::{Refused, refuse_unsafe},
    tell::{Ink, wrap},
};
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
            Err(Refused::Unsafe(why)) => bail!(why),
            // The compiler says what is wrong here.
            Err(Refused::Unreadable(why)) => warnings.push(why),
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
        println!("{}", Ink::auto().yellow(&line));
    }
    println!("\n{}: {} bytes. Hand in this file.", out.display(), archive.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_sources_are_packed_and_what_is_wrong_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let course = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let lessons = lessons::all(course).unwrap();
        let put = |path: &str, bytes: &[u8]| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), bytes).unwrap();
        };
        let out = root.join("a.tar.gz");
        let pack = |name: &str, lesson: &str| {
            let (out, lesson) = (root.join(name), vec![lesson.to_owned()]);
            run(root, &lessons, &Options { out, lesson }).map_err(|e| format!("{e:#}"))
        };
        let refused = |name: &str, lesson: &str, expected: &str| {
            let error = pack(name, lesson).unwrap_err();
            assert!(error.contains(expected) && !root.join(name).exists(), "{error}");
        };
        let library = "exercises/lesson01/src/lib.rs";
        refused("a.tar.gz", "1", "exercises/lesson01/src/lib.rs does not exist");
        put(library, b"\xff");
        refused(
            "a.tar.gz",
            "1",
            "exercises/lesson01/src/lib.rs: it is not UTF-8 text",
        );
        put(library, b"mod more;\n\n#[unsafe(no_mangle)]\nfn f() {}\n");
        refused(
            "a.tar.gz",
            "1",
            "exercises/lesson01/src/lib.rs, line 3: `unsafe` is not allowed",
        );
        refused("a.zip", "01", ".tar.gz");
        refused("a.tar.gz", "99", "no lesson 99");
        // What the compiler refuses is packed: it says what is wrong.
        put(library, b"pub fn halve( {");
        put("exercises/lesson01/src/more/mod.rs", b"");
        put("exercises/lesson01/src/notes.txt", b"mine");
        put("exercises/lesson01/build.rs", b"fn main() {}");
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join(library), root.join("exercises/lesson01/src/linked.rs"))
            .unwrap();
        pack("a.tar.gz", "01").unwrap();
        let packed = Submission::read(&out).unwrap();
        let names: Vec<&String> = packed.files.keys().collect();
        assert_eq!(names, [library, "exercises/lesson01/src/more/mod.rs"]);
        assert!(packed.packed.is_some() && packed.left_out.is_empty());
        put("exercises/capstone/src/lib.rs", b"");
        put("exercises/capstone/src/config.toml", b"# unsafe");
        super::pack(root, &out, &[paths::CAPSTONE]).unwrap();
        let packed = Submission::read(&out).unwrap();
        assert_eq!(packed.of_lesson(paths::CAPSTONE).len(), 2);
    }
}
