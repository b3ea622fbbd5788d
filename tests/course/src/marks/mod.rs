//! `cargo course marks`: tables, exports and pages from the `grade.json` of each submission. It runs no student's code.

pub(crate) mod clean;
mod load;
mod page;
mod platforms;
mod roster;
#[cfg(test)]
pub(crate) mod samples;
mod sheets;
mod table;
#[cfg(test)]
mod tests;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};
use grader::grades::Grade;
use load::{Class, Entry, kept, mark, of, state, won};
pub use page::render;
pub use roster::Roster;

/// Options of `cargo course marks`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo course marks graded\n  \
    cargo course marks graded --roster class.csv --out marks")]
pub struct Options {
    /// Folder that `cargo course grade --out` wrote
    dir: PathBuf,
    /// Folder for marks.csv (also for Moodle), canvas.csv, marks.json and the pages [default: only print a table]
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
/// Returns an error if `dir` contains no grade, or if any file cannot be written; the others are written all the same.
pub fn write_all(dir: &Path) -> Result<()> {
    write(&Class::load(dir)?, dir)
}

/// Prints the table of the class, or writes all tables and pages. The exit code is 1 if a grade could not be read.
///
/// # Errors
/// Returns an error if the roster is invalid, or a file cannot be read or written.
pub fn run(options: &Options) -> Result<ExitCode> {
    let mut class = Class::load(&options.dir)?;
    let roster = options.roster.as_deref().map(Roster::load).transpose()?;
    let unmatched = roster.unwrap_or_default().complete_all(&mut class);
    match &options.out {
        None => print!("{}", table::table(&class)),
        Some(out) => {
            write(&class, out)?;
            println!("{}", out.join(OWN[0]).display());
        }
    }
    for line in unmatched.iter().chain(&class.damaged) {
        eprintln!("cargo course: {}", clean::line(line));
    }
    Ok(ExitCode::from(u8::from(!class.damaged.is_empty())))
}

/// Writes all tables and pages of a class. What cannot be written does not stop the rest.
fn write(class: &Class, out: &Path) -> Result<()> {
    let own = [
        page::class(class),
        sheets::marks(class),
        sheets::canvas(class),
        json(class),
    ];
    let own = OWN.into_iter().zip(own);
    let mut files: Vec<_> = own.map(|(name, text)| (out.join(name), text)).collect();
    for Entry { folder, grade, .. } in &class.entries {
        let folder = out.join(folder);
        files.push((folder.join("grade.html"), page::student(grade)));
        files.push((folder.join("results.json"), platforms::gradescope(grade)));
        files.push((folder.join("classroom.json"), platforms::github(grade)));
    }
    let write = |(path, text): (PathBuf, Result<String>)| -> Result<()> {
        let folder = path.parent().unwrap_or(out);
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))?;
        put(&path, text?)
    };
    let failed = files.into_iter().filter_map(|file| write(file).err());
    let failed: Vec<String> = failed.map(|error| format!("{error:#}")).collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// Writes a file atomically.
pub fn put(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let next = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = fs::write(&next, bytes).and_then(|()| fs::rename(&next, path));
    if written.is_err() {
        let _ = fs::remove_file(&next);
    }
    written.with_context(|| format!("{} cannot be written", path.display()))
}

fn json(class: &Class) -> Result<String> {
    let grades: Vec<&Grade> = class.entries.iter().map(|e| &e.grade).collect();
    Ok(serde_json::to_string_pretty(&grades)? + "\n")
}
