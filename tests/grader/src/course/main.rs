//! `cargo course`: the companion of a student. Where am I, what is next, a hint.

mod home;
mod lessons;
mod matrix;
mod reset;

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use grader::{
    place,
    progress::{self, Progress},
    tell::{Ink, wrap},
};
use lessons::Lesson;

/// The companion of the course; alone it says where you are.
#[derive(Parser)]
#[command(name = "cargo course", bin_name = "cargo course")]
struct Options {
    #[command(subcommand)]
    command: Option<Task>,
}

#[derive(Subcommand)]
enum Task {
    /// Check a lesson (`check 01`) or one exercise (`check 1.2`); without a name, the next exercise.
    Check { what: Option<String> },
    /// A hint for an exercise: a question, then a pointer, then nearly the code; one more each time.
    Hint { exercise: String },
    /// The empty function again; yours is kept beside it.
    Reset { exercise: String },
    /// The next exercise: what is asked, and where.
    Next,
    /// Which check catches which known mistake, as Markdown.
    Matrix {
        /// One lesson, such as 02; without it, all
        lesson: Option<String>,
        /// Write it for the book, all lessons: book/src/kill-matrix.md
        #[arg(long, conflicts_with = "lesson")]
        write: bool,
    },
}

fn main() -> ExitCode {
    match run(Options::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("cargo course: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<ExitCode> {
    let root = place::root().context("this is not within the course's folder")?;
    let lessons = lessons::all(&root)?;
    let ink = Ink::auto();
    match options.command {
        None => print!("{}", home::screen(&lessons, &Progress::load(), ink)),
        Some(Task::Next) => print!("{}", home::next(&lessons, &Progress::load(), ink)),
        Some(Task::Check { what }) => return check(&lessons, what),
        Some(Task::Hint { exercise }) => print!("{}", hint(&lessons, &exercise, ink)?),
        Some(Task::Reset { exercise }) => {
            let (lesson, one) = lessons::find(&lessons, &exercise)?;
            print!("{}", reset::reset(&root, lesson, one)?);
        }
        Some(Task::Matrix { lesson, write }) => print!("{}", matrix::told(&root, &lessons, lesson, write)?),
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `cargo test -p lessonNN -- …`; its exit code is ours.
fn grade(lesson: &str, more: &[&str]) -> Result<ExitCode> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let status = Command::new(cargo)
        .args(["test", "--quiet", "-p", &format!("lesson{lesson}"), "--"])
        .args(more)
        .status()
        .context("cargo could not be started")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn check(lessons: &[Lesson], what: Option<String>) -> Result<ExitCode> {
    let what = match what {
        Some(what) => what,
        None => match lessons::next(lessons, &Progress::load()) {
            Some((_, exercise)) => exercise.id.clone(),
            None => {
                println!("All exercises are right. `cargo course check 01` runs a lesson again.");
                return Ok(ExitCode::SUCCESS);
            }
        },
    };
    if what.contains('.') {
        let (lesson, exercise) = lessons::find(lessons, &what)?;
        return grade(&lesson.manifest.lesson, &[&format!("{}::", exercise.id)]);
    }
    match lessons
        .iter()
        .find(|l| l.manifest.lesson == format!("{what:0>2}"))
    {
        Some(lesson) => grade(&lesson.manifest.lesson, &[]),
        None => bail!("there is no lesson {what}; `cargo course` lists them"),
    }
}

fn hint(lessons: &[Lesson], id: &str, ink: Ink) -> Result<String> {
    let (_, exercise) = lessons::find(lessons, id)?;
    let seen = progress::change(|progress| {
        let seen = progress.hints.entry(exercise.id.clone()).or_default();
        *seen = (*seen + 1).min(exercise.hints.len());
        *seen
    });
    let seen = seen.context("progress could not be kept")?;
    let mut out = format!("{}\n", ink.bold(&format!("{} {}", exercise.id, exercise.title)));
    for (i, hint) in exercise.hints.iter().take(seen).enumerate() {
        out.push_str(&format!("\n  hint {} of {}\n", i + 1, exercise.hints.len()));
        for line in wrap(hint, 76) {
            out.push_str(&format!("    {line}\n"));
        }
    }
    if seen < exercise.hints.len() {
        let more = format!("\n  one more: cargo course hint {}\n", exercise.id);
        out.push_str(&ink.faint(&more));
    }
    Ok(out)
}
