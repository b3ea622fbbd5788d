//! `cargo course marks`: tables, exports and pages from the `grade.json` of each submission. It runs no student's code.

mod class;
pub(crate) mod clean;
mod page;
mod platforms;
mod roster;
mod tables;
#[cfg(test)]
pub(crate) mod tests;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use class::{Class, kept, late, state};
pub use class::{mark, status, why};
use minijinja::Value;
pub use page::{environment, render};
pub use roster::Roster;

/// Options of `cargo course marks`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo course marks graded\n  \
    cargo course marks graded --roster class.csv --out marks")]
pub struct Options {
    /// Folder that `cargo course grade --out` wrote
    dir: PathBuf,
    /// Folder for marks.csv (also for Moodle), canvas.csv, marks.json and the pages [default: DIR]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// CSV of the students, such as an export of your platform. Columns: `submission`, `name`, `email`, `id`, `login`,
    /// `canvas`, `section`, `submitted`
    #[arg(long, value_name = "FILE.csv")]
    roster: Option<PathBuf>,
}

/// Files that are written into the folder of the grades, beside a folder per submission.
pub const OWN: [&str; 4] = ["index.html", "marks.csv", "canvas.csv", "marks.json"];

/// Writes all tables and pages of the grades in `dir` into `dir`.
///
/// # Errors
/// Returns an error if `dir` contains no grade, a grade cannot be read, or a file cannot be written.
pub fn write_all(dir: &Path) -> Result<()> {
    write(&Class::load(dir)?, dir)
}

/// Writes all tables and pages of the class, and prints what a roster does not match.
///
/// # Errors
/// Returns an error if the roster is invalid, or a file cannot be read or written.
pub fn run(options: &Options) -> Result<()> {
    let mut class = Class::load(&options.dir)?;
    if let Some(roster) = &options.roster {
        for line in Roster::load(roster)?.complete_all(&mut class) {
            eprintln!("cargo course: {}", clean::line(&line));
        }
    }
    let out = options.out.as_ref().unwrap_or(&options.dir);
    write(&class, out)?;
    println!("{}", out.join(OWN[0]).display());
    Ok(())
}

fn write(class: &Class, out: &Path) -> Result<()> {
    let rows: Vec<Value> = class.grades.iter().map(page::row).collect();
    let json = |value: &_| serde_json::to_string_pretty(value).map(|text| text + "\n");
    let own = [
        page::class(class, &rows)?,
        tables::marks(class)?,
        tables::canvas(class)?,
        json(&serde_json::to_value(&class.grades)?)?,
    ];
    for (grade, row) in class.grades.iter().zip(&rows) {
        let folder = out.join(&grade.submission);
        put(&folder.join("grade.html"), page::student(row)?)?;
        put(&folder.join("results.json"), json(&platforms::gradescope(grade))?)?;
        put(&folder.join("classroom.json"), json(&platforms::github(grade))?)?;
    }
    let mut own = OWN.into_iter().zip(own);
    own.try_for_each(|(name, text)| put(&out.join(name), text))
}

/// Writes a file atomically, and creates its folder.
pub fn put(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let next = path.with_extension(format!("{}.tmp", std::process::id()));
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| fs::write(&next, bytes));
    let written = written.and_then(|()| fs::rename(&next, path));
    if written.is_err() {
        let _ = fs::remove_file(&next);
    }
    written.with_context(|| format!("{} cannot be written", path.display()))
}
