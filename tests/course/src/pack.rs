//! `cargo course pack`: writes the archive that a student hands in.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use flate2::{Compression, GzBuilder};
use grader::{
    progress::Progress,
    source::{Refused, refuse_unsafe},
    tell::{Ink, wrap},
};

use crate::{
    late,
    lessons::{self, Lesson},
    marks::put,
    submission::{ALL_BYTES, FILE_BYTES, FILES, Packed, SCHEMA, Submission, digest, sha256},
    version,
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

/// A file to pack: its path from the root, and its bytes.
type File = (String, Vec<u8>);

/// Packs the exercises and prints a summary.
///
/// # Errors
/// Returns an error if a lesson does not exist, there is nothing or too much to pack, or a file cannot be read or written.
pub fn run(root: &Path, lessons: &[Lesson], options: &Options) -> Result<()> {
    let out = &options.out;
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    ensure!(
        name.ends_with(".tar.gz") || name.ends_with(".tgz"),
        "the name of the archive must end in .tar.gz or .tgz, unlike {}",
        out.display()
    );
    let chosen = chosen(lessons, &options.lesson)?;
    let (mut files, mut warnings) = (Vec::new(), Vec::new());
    for lesson in &chosen {
        let folder = format!("exercises/lesson{}/src", lesson.manifest.lesson);
        collect(root, &root.join(&folder), &mut files, &mut warnings)
            .with_context(|| format!("{folder} cannot be packed"))?;
        missing(lesson, &folder, &files, &mut warnings);
    }
    files.sort();
    ensure!(!files.is_empty(), "there is no .rs file to pack");
    let all: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    ensure!(
        files.len() <= FILES && all <= ALL_BYTES,
        "{} files with {all} bytes are too many: at most {FILES} files with {ALL_BYTES} bytes can be handed in",
        files.len()
    );
    let about = about(root, &files)?;
    let archive = archive(&files, &toml::to_string(&about)?)?;
    put(out, &archive)?;
    let summary = summary(&about, &chosen, &Progress::load(), &warnings, Ink::auto());
    print!("{summary}");
    println!("\n{}: {} bytes. Hand in this file.", out.display(), archive.len());
    Ok(())
}

fn chosen<'a>(lessons: &'a [Lesson], names: &[String]) -> Result<Vec<&'a Lesson>> {
    if names.is_empty() {
        return Ok(lessons.iter().collect());
    }
    names.iter().map(|name| lessons::lesson(lessons, name)).collect()
}

/// Collects every `.rs` file below `folder`, without links, which could lead anywhere.
fn collect(root: &Path, folder: &Path, files: &mut Vec<File>, warnings: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = version::name(root, &path);
        if kind.is_symlink() {
            warnings.push(format!("{name} is a link and was left out"));
        } else if kind.is_dir() {
            collect(root, &path, files, warnings)?;
        } else if kind.is_file() && path.extension().is_some_and(|e| e == "rs") {
            let length = entry.metadata()?.len();
            ensure!(
                length <= FILE_BYTES,
                "{name} has {length} bytes; a file may have at most {FILE_BYTES}"
            );
            let bytes = fs::read(&path).with_context(|| format!("{name} cannot be read"))?;
            match std::str::from_utf8(&bytes).map(|text| refuse_unsafe(&name, text)) {
                Err(_) => warnings.push(format!("{name} is not UTF-8 text: rustc will refuse it")),
                Ok(Err(Refused::Unsafe(why))) => bail!(why),
                Ok(Err(Refused::Unreadable(why))) => warnings.push(why),
                Ok(Ok(())) => {}
            }
            files.push((name, bytes));
        } else {
            warnings.push(format!("{name} is not a .rs file and was left out"));
        }
    }
    Ok(())
}

/// Warns of exercises that are missing in the lesson's files.
fn missing(lesson: &Lesson, folder: &str, files: &[File], warnings: &mut Vec<String>) {
    let mut texts = files.iter().filter(|(name, _)| name.starts_with(folder));
    let texts: Vec<_> = texts.by_ref().map(|(_, b)| String::from_utf8_lossy(b)).collect();
    for e in &lesson.manifest.exercises {
        let head = ["(", "<"].map(|open| format!("fn {}{open}", e.function));
        let there = texts.iter().any(|t| head.iter().any(|h| t.contains(h)));
        let used = texts.iter().any(|t| t.contains(&e.function));
        if !there && !used {
            warnings.push(format!(
                "{} {}: there is no function `{}`, so the whole lesson does not compile",
                e.id, e.title, e.function
            ));
        }
    }
}

fn about(root: &Path, files: &[File]) -> Result<Submission> {
    let files: Vec<Packed> = files
        .iter()
        .map(|(path, bytes)| Packed {
            path: path.clone(),
            bytes: bytes.len() as u64,
            sha256: sha256(bytes),
        })
        .collect();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .context("the clock of this machine is set before 1970")?;
    Ok(Submission {
        schema: SCHEMA,
        packed: late::rfc3339(now.as_secs()),
        rustc: rustc(),
        digest: digest(files.iter().map(|f| (&*f.path, &*f.sha256))),
        course: version::course(root)?,
        files,
    })
}

fn rustc() -> String {
    let program = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let said = Command::new(program).arg("--version").output();
    said.ok()
        .and_then(|o| String::from_utf8(o.stdout).ok())
        .map_or_else(|| "unknown".into(), |t| t.trim().to_owned())
}

/// The archive: `submission.toml` and the files, without times, owners and modes of this machine.
fn archive(files: &[File], about: &str) -> Result<Vec<u8>> {
    let gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let mut tar = tar::Builder::new(gzip);
    let first = [("submission.toml".to_owned(), about.as_bytes().to_vec())];
    for (path, bytes) in first.iter().chain(files) {
        let mut head = tar::Header::new_ustar();
        head.set_size(bytes.len() as u64);
        head.set_mode(0o644);
        head.set_mtime(0);
        tar.append_data(&mut head, path, &**bytes)
            .with_context(|| format!("{path} cannot be packed"))?;
    }
    let mut gzip = tar.into_inner()?;
    gzip.flush()?;
    Ok(gzip.finish()?)
}

/// Lists the packed files and the exercises that are still to do.
fn summary(
    about: &Submission,
    lessons: &[&Lesson],
    progress: &Progress,
    warnings: &[String],
    ink: Ink,
) -> String {
    let mut out = String::new();
    for file in &about.files {
        out.push_str(&format!("  {:>7} bytes  {}\n", file.bytes, file.path));
    }
    out.push_str(&format!("  digest {}…\n\n", &about.digest[..16]));
    for lesson in lessons {
        let m = &lesson.manifest;
        let open: Vec<&str> = m
            .exercises
            .iter()
            .filter(|e| progress.state(&e.id) != "right")
            .map(|e| &*e.id)
            .collect();
        let won = |id: &str| !open.contains(&id);
        let points: u32 = m.exercises.iter().filter(|e| won(&e.id)).map(|e| e.points).sum();
        let line = format!(
            "Lesson {}: {points} of {} points in your last runs",
            m.lesson,
            m.points()
        );
        if open.is_empty() {
            out.push_str(&format!("{}\n", ink.green(&line)));
        } else {
            let line = format!("{line}; still to do: {}", open.join(", "));
            for line in wrap(&line, 80) {
                out.push_str(&format!("{}\n", ink.blue(&line)));
            }
        }
    }
    for warning in warnings {
        for line in wrap(&format!("warning: {warning}"), 80) {
            out.push_str(&format!("{}\n", ink.yellow(&line)));
        }
    }
    out
}

#[cfg(test)]
#[path = "pack/tests.rs"]
mod tests;
