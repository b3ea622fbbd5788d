//! `cargo course marks`: tables, exports and pages from the `grade.json` of each submission. It runs no student's code.

mod classroom;
pub(crate) mod clean;
mod gradescope;
mod load;
mod page;
mod roster;
#[cfg(test)]
pub(crate) mod samples;
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
use grader::{grades::Grade, tell::Ink};
use load::{Class, Entry, kept, mark, state};
pub use roster::Roster;

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
    /// CSV of the students, such as an export of your platform. Columns: `submission`, `name`, `email`, `id`, `login`,
    /// `canvas`, `section`, `submitted`
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

/// Files that are written into the folder of the grades, beside a folder per submission.
pub const OWN: [&str; 6] = [
    "index.html",
    "marks.csv",
    "moodle.csv",
    "canvas.csv",
    "marks.json",
    "grade.json",
];

/// Writes every format into `dir`: pages, CSV, JSON, and each submission's `results.json` (Gradescope) and
/// `classroom.json` (GitHub Classroom).
///
/// # Errors
/// Returns an error if `dir` contains no grade, or if any file cannot be written; the others are written all the same.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only grading calls it"))]
pub fn write_all(dir: &Path) -> Result<()> {
    folder(&Class::load(dir)?, dir, Format::All, None)?;
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
    let unmatched = roster.unmatched(&class);
    recount(&mut class, &roster, options)?;
    let column = options.column.as_deref();
    match options.format {
        Format::Gradescope | Format::Github | Format::Pages | Format::All => {
            let out = options.out.as_deref().unwrap_or(&options.dir);
            ensure!(
                !out.is_file(),
                "{} is a file; this format writes a folder",
                out.display()
            );
            let written = folder(&class, out, options.format, column)?;
            println!("{written} files in {}", out.display());
        }
        Format::Table => print_or_write(options, &table::table(&class, ink(options)))?,
        other => print_or_write(options, &text(&class, other, column)?)?,
    }
    for line in unmatched {
        eprintln!("cargo course: {line}");
    }
    for (folder, why) in &class.damaged {
        eprintln!(
            "cargo course: {} has no mark: {}",
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

/// The text of a format with one file.
fn text(class: &Class, format: Format, column: Option<&str>) -> Result<String> {
    match format {
        Format::Csv => sheets::csv(class),
        Format::Moodle => sheets::moodle(class, column),
        Format::Canvas => sheets::canvas(class, column),
        Format::Pages => page::class(class),
        _ => json(class),
    }
}

/// Writes a format with one file per submission, or all formats, and returns the number of files. What cannot be written does
/// not stop the rest.
fn folder(class: &Class, out: &Path, format: Format, column: Option<&str>) -> Result<usize> {
    type Writer = fn(&Grade) -> Result<String>;
    let each: [(Format, &str, Writer); 3] = [
        (Format::Pages, "grade.html", page::student),
        (Format::Gradescope, "results.json", gradescope::results),
        (Format::Github, "classroom.json", classroom::results),
    ];
    let one = [
        (Format::Pages, OWN[0]),
        (Format::Csv, OWN[1]),
        (Format::Moodle, OWN[2]),
        (Format::Canvas, OWN[3]),
        (Format::Json, OWN[4]),
    ];
    let wanted = |other: Format| format == Format::All || format == other;
    let mut files = Vec::new();
    for entry in &class.entries {
        let of = each.iter().filter(|(format, ..)| wanted(*format));
        files.extend(of.map(|(_, name, by)| (out.join(&entry.folder).join(name), by(&entry.grade))));
    }
    let of = one.into_iter().filter(|(format, _)| wanted(*format));
    files.extend(of.map(|(format, name)| (out.join(name), text(class, format, column))));
    let count = files.len();
    let failed: Vec<String> = files
        .into_iter()
        .filter_map(|(path, text)| {
            let written = text.and_then(|text| {
                let folder = path.parent().unwrap_or(out);
                fs::create_dir_all(folder)
                    .with_context(|| format!("{} cannot be created", folder.display()))?;
                put(&path, text)
            });
            written.err().map(|e| format!("{e:#}"))
        })
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(count)
}

/// Computes lateness from the options, with the times of the roster if it has them.
fn recount(class: &mut Class, roster: &Roster, options: &Options) -> Result<()> {
    for entry in &mut class.entries {
        entry.listed = roster.sign(&mut entry.grade);
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
        late::settle(grade, Some((&policy, due)));
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
