//! `cargo course marks`: tables, exports and pages from the `grade.json` of each submission. It runs no student's code.

mod classroom;
pub(crate) mod clean;
mod gradescope;
mod junit;
mod load;
mod page;
mod roster;
#[cfg(test)]
mod samples;
mod sheets;
mod table;
#[cfg(test)]
mod tests;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};
pub use clean::markup;
use grader::{grades::Grade, tell::Ink};
use load::{Class, Entry, kept, mark, state};
use roster::Roster;

use crate::late::{self, Policy};

/// Options of `cargo course marks`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo course marks graded\n  cargo course marks graded --format all\n  \
    cargo course marks graded --format moodle --roster class.csv --out moodle.csv\n  \
    cargo course marks graded --due 2026-11-20T23:59:00+01:00 --late 10%/day --grace 15m"
)]
pub struct Options {
    /// Folder that `cargo course grade --out` wrote, or the folder of one submission
    dir: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// File to write, or folder for formats with one file per submission [default: the terminal, or DIR]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// CSV that lists who handed in what, with the column `submission` and any of `name`, `email`, `id`, `login`, `canvas`,
    /// `section`, `submitted`
    #[arg(long, value_name = "FILE.csv")]
    roster: Option<PathBuf>,
    /// For Moodle and Canvas: write one column of this name instead of one per lesson
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Compute lateness again with this due time; `grade.json` is not changed
    #[arg(long, value_name = "TIME", requires = "late")]
    due: Option<String>,
    /// Penalty for lateness, such as `10%/day`, `5%/hour` or `1%/15m`
    #[arg(long, value_name = "POLICY", requires = "due")]
    late: Option<Policy>,
    /// Grace period without penalty, such as `15m` or `2h` [default: 0s]
    #[arg(long, value_name = "TIME", requires = "late")]
    grace: Option<String>,
    /// Maximum penalty in percent [default: 100]
    #[arg(long, value_name = "PERCENT", requires = "late")]
    cap: Option<f64>,
}

/// The formats.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A table for the terminal
    Table,
    /// A row per submission, a column per exercise
    Csv,
    /// For Moodle: Grades, Import, CSV file
    Moodle,
    /// For Canvas: Gradebook, Import
    Canvas,
    /// JUnit XML for CI servers
    Junit,
    /// Gradescope's results.json, one per submission
    Gradescope,
    /// The result of a GitHub Classroom runner, one per submission
    Github,
    /// All grades in one JSON file
    Json,
    /// A page per student and one of the class
    Pages,
    /// All of these except the table
    All,
}

/// Writes every format into `dir`: pages, CSV, JUnit XML, JSON, and each submission's `results.json` (Gradescope) and
/// `classroom.json` (GitHub Classroom).
///
/// # Errors
/// Returns an error if `dir` contains no grade or cannot be written to.
#[allow(dead_code, reason = "grading calls it at its end")]
pub fn write_all(dir: &Path) -> Result<()> {
    everything(&Class::load(dir)?, dir, &Roster::default(), None)?;
    Ok(())
}

/// Writes the chosen format. The exit code is 1 if a grade could not be read.
///
/// # Errors
/// Returns an error if the roster or the late policy is invalid, or a file cannot be read or written.
pub fn run(options: &Options) -> Result<ExitCode> {
    let mut class = Class::load(&options.dir)?;
    let roster = match &options.roster {
        Some(path) => Roster::load(path)?,
        None => Roster::default(),
    };
    recount(&mut class, &roster, options)?;
    let column = options.column.as_deref();
    match options.format {
        Format::Table => print_or_write(options, &table::table(&class, ink(options)))?,
        Format::Csv => print_or_write(options, &sheets::csv(&class)?)?,
        Format::Moodle => print_or_write(options, &sheets::moodle(&class, &roster, column)?)?,
        Format::Canvas => print_or_write(options, &sheets::canvas(&class, &roster, column)?)?,
        Format::Junit => print_or_write(options, &junit::xml(&class))?,
        Format::Json => print_or_write(options, &json(&class)?)?,
        Format::Gradescope | Format::Github | Format::Pages | Format::All => {
            folder(&class, &roster, options)?
        }
    }
    for line in roster.unmatched(&class) {
        eprintln!("cargo course: {line}");
    }
    for (folder, why) in &class.damaged {
        eprintln!(
            "cargo course: {} was skipped: {}",
            clean::line(folder),
            clean::line(why)
        );
    }
    Ok(if class.damaged.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Colours on a terminal only.
fn ink(options: &Options) -> Ink {
    match options.out {
        Some(_) => Ink { colour: false },
        None => Ink::auto(),
    }
}

/// Writes a format with one file per submission into `--out`, or into the folder that the grades were read from.
fn folder(class: &Class, roster: &Roster, options: &Options) -> Result<()> {
    let out = options.out.as_deref().unwrap_or(&options.dir);
    ensure!(
        !out.is_file(),
        "{} is a file; this format writes a folder",
        out.display()
    );
    let written = match options.format {
        Format::Gradescope => each(class, out, "results.json", gradescope::results)?,
        Format::Github => each(class, out, "classroom.json", classroom::results)?,
        Format::Pages => pages(class, out)?,
        _ => everything(class, out, roster, options.column.as_deref())?,
    };
    println!("{written} files in {}", out.display());
    Ok(())
}

/// Computes lateness from the options, with the times of the roster if it has them.
fn recount(class: &mut Class, roster: &Roster, options: &Options) -> Result<()> {
    for entry in &mut class.entries {
        if let Some(time) = roster.get(entry).and_then(|r| r.submitted) {
            entry.grade.submitted = Some(time);
        }
    }
    let (Some(due), Some(mut policy)) = (&options.due, options.late) else {
        return Ok(());
    };
    let due = late::instant(due)?;
    if let Some(grace) = &options.grace {
        policy.grace = late::duration(grace)?;
    }
    if let Some(cap) = options.cap {
        ensure!(
            (0.0..=100.0).contains(&cap),
            "--cap takes 0 to 100 percent, not {cap}"
        );
        policy.cap = cap;
    }
    for Entry { grade, .. } in &mut class.entries {
        grade.late = grade.submitted.and_then(|s| late::late(&policy, due, s));
    }
    Ok(())
}

fn print_or_write(options: &Options, text: &str) -> Result<()> {
    let Some(out) = &options.out else {
        // A closed pipe, as with `head`, is not an error.
        return match std::io::stdout().write_all(text.as_bytes()) {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e.into()),
            _ => Ok(()),
        };
    };
    if out.is_dir() {
        bail!("{} is a folder; this format writes a file", out.display());
    }
    put(out, text)?;
    println!("{}", out.display());
    Ok(())
}

/// Writes a file atomically.
pub fn put(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let next = path.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&next, bytes)
        .and_then(|()| fs::rename(&next, path))
        .with_context(|| format!("{} cannot be written", path.display()))
}

fn json(class: &Class) -> Result<String> {
    let grades: Vec<&Grade> = class.entries.iter().map(|e| &e.grade).collect();
    Ok(serde_json::to_string_pretty(&grades)? + "\n")
}

fn each(class: &Class, out: &Path, name: &str, by: impl Fn(&Grade) -> Result<String>) -> Result<usize> {
    for entry in &class.entries {
        let folder = out.join(&entry.folder);
        fs::create_dir_all(&folder).with_context(|| format!("{} cannot be created", folder.display()))?;
        put(&folder.join(name), &by(&entry.grade)?)?;
    }
    Ok(class.entries.len())
}

fn pages(class: &Class, out: &Path) -> Result<usize> {
    let written = each(class, out, "grade.html", |grade| Ok(page::student(grade)))?;
    put(&out.join("index.html"), page::class(class))?;
    Ok(written + 1)
}

fn everything(class: &Class, out: &Path, roster: &Roster, column: Option<&str>) -> Result<usize> {
    let mut written = pages(class, out)?;
    written += each(class, out, "results.json", gradescope::results)?;
    written += each(class, out, "classroom.json", classroom::results)?;
    let files = [
        ("marks.csv", sheets::csv(class)?),
        ("moodle.csv", sheets::moodle(class, roster, column)?),
        ("canvas.csv", sheets::canvas(class, roster, column)?),
        ("junit.xml", junit::xml(class)),
        ("marks.json", json(class)?),
    ];
    for (name, text) in &files {
        put(&out.join(name), text)?;
    }
    Ok(written + files.len())
}
