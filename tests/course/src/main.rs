//! `cargo course`: progress, checks, hints and the book for students; grading, marks and certificates for instructors.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "some of it is used by grading alone, which is for Linux")
)]

mod book;
mod bundle;
mod capstone;
mod cargo;
mod certificate;
mod grade;
mod home;
mod late;
mod lessons;
mod marks;
mod new;
mod pack;
mod reset;
mod slurm;
mod solution;
mod submission;
mod version;
mod watch;

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use console::style;
use grader::{
    Exercise, paths,
    progress::{self, Progress},
    tell::{WIDTH, heading, paragraphs, wrap},
};
use lessons::Lesson;

/// Work through the course: progress, checks, hints, the book. Without a command: your progress and the next exercise.
#[derive(Parser)]
#[command(
    name = "cargo course",
    bin_name = "cargo course",
    after_help = "Examples:\n  cargo course             your progress\n  cargo course next        what the next exercise requires\n  \
    cargo course watch       check whenever you save\n  cargo course hint 1.2    the next hint for exercise 1.2\n  \
    cargo course book 1.2    the page of the book on exercise 1.2"
)]
struct Options {
    #[command(subcommand)]
    command: Option<Task>,
}

#[derive(Subcommand)]
enum Task {
    /// Check a lesson, one exercise, or everything
    Check {
        /// A lesson (`01`), an exercise (`1.2`) or `all` [default: the next exercise]
        what: Option<String>,
    },
    /// Show a hint for an exercise; each call shows one more of its three
    Hint {
        /// An exercise, such as `1.2`
        exercise: String,
    },
    /// Check the next exercise whenever you save; keys show hints and go to other exercises
    Watch {
        /// Begin in this lesson (`08`) or at this exercise (`8.2`) [default: the next exercise]
        what: Option<String>,
    },
    /// Show canopy's own function for an exercise that you have solved or given up
    Solution {
        /// An exercise, such as `1.2`
        exercise: String,
        /// Show it before the exercise is right; your progress records this
        #[arg(long)]
        give_up: bool,
    },
    /// Build the book and open it in your browser
    Book {
        /// Open a lesson (`01`) or an exercise (`1.2`) [default: the first page]
        what: Option<String>,
    },
    /// Restore the empty function of an exercise; a copy of your file is kept
    Reset {
        /// An exercise, such as `1.2`
        exercise: String,
    },
    /// Show what the next exercise requires, and where to write it
    Next,
    /// For instructors: grade submissions, each in a sandbox
    Grade(grade::Options),
    /// Write your exercises into one archive to hand in
    Pack(pack::Options),
    /// For instructors: tables, exports and pages of the grades
    Marks(marks::Options),
    /// For instructors: certify that a student won all points of some lessons
    Certificate(certificate::Options),
    /// The budget race: pack your submission; for instructors, score a class
    #[command(subcommand)]
    Capstone(capstone::Task),
    /// Job scripts for a cluster with Slurm, from the templates of slurm/
    #[command(subcommand)]
    Slurm(slurm::Task),
    /// For instructors: write course, book and crates into one archive, for a class without a network
    #[command(after_help = bundle::HELP)]
    Bundle,
    /// For authors: write the skeleton of a lesson, with its exercise and its chapter (`new 14 "Title"`)
    New {
        /// Number of the lesson, 1 to 99
        #[arg(value_parser = clap::value_parser!(u32).range(1..100))]
        lesson: u32,
        /// Title of the lesson
        title: String,
    },
    /// For authors: print as Markdown which check catches which known mistake
    Matrix {
        /// A lesson, such as `02`
        lesson: String,
    },
}

fn main() -> ExitCode {
    // With this `cargo course | head` exits quietly; Rust would panic at the closed pipe.
    #[cfg(unix)]
    // SAFETY: no other thread runs yet.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
    match run(Options::parse()) {
        Ok(code) => code,
        Err(error) => {
            // Code is indented, and not wrapped.
            for line in format!("cargo course: {error:#}").lines() {
                match line.starts_with(' ') {
                    true => eprintln!("{line}"),
                    false => eprintln!("{}", wrap(line, WIDTH).join("\n")),
                }
            }
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<ExitCode> {
    let root = paths::root()
        .context("this is not the course's folder, nor a folder in it; change to it and try again")?;
    let lessons = lessons::all(&root)?;
    match options.command {
        None => print!("{}", home::screen(&lessons, &Progress::load())),
        Some(Task::Slurm(task)) => slurm::run(&root, &task)?,
        Some(Task::Next) => match lessons::next(&lessons, &Progress::load()) {
            Some((lesson, exercise)) => print!("{}", home::about(lesson, exercise)),
            None => println!("All exercises are right."),
        },
        Some(Task::Check { what }) if check(&root, &lessons, what.as_deref())? => {}
        Some(Task::Check { .. }) => return Ok(ExitCode::FAILURE),
        Some(Task::Hint { exercise }) => print!("{}", hint(&lessons, &exercise)?),
        Some(Task::Watch { what }) => watch::watch(&root, &lessons, what.as_deref())?,
        Some(Task::Solution { exercise, give_up }) => {
            let text = solution::solution(&root, &lessons, &exercise, give_up)?;
            print!("{text}");
        }
        Some(Task::Book { what }) => print!("{}", book::book(&root, &lessons, what.as_deref())?),
        Some(Task::Reset { exercise }) => {
            let (lesson, one) = lessons::find(&lessons, &exercise)?;
            let kept = reset::reset(&root, lesson, one)?;
            println!("{} {} is empty again.", one.id, one.title);
            println!("A copy of your file: {kept}");
        }
        Some(Task::Capstone(task)) => return capstone::run(&root, task),
        Some(Task::Grade(options)) => return Ok(grade::run(&root, options)),
        Some(Task::Pack(options)) => pack::run(&root, &lessons, &options)?,
        Some(Task::Marks(options)) => marks::run(&options)?,
        Some(Task::Certificate(options)) => certificate::run(&lessons, &options)?,
        Some(Task::Bundle) => print!("{}", bundle::bundle(&root)?),
        Some(Task::New { lesson, title }) => print!("{}", new::new(&root, lesson, &title)?),
        Some(Task::Matrix { lesson }) => {
            let lesson = lessons::lesson(&lessons, &lesson)?;
            eprintln!("Running every check on every known mistake: this may take minutes.");
            let done = checks(&root, lesson, Some("--matrix".into()))?;
            ensure!(done, "the matrix could not be created");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the program of a lesson's checks. Returns whether all passed.
fn checks(root: &Path, lesson: &Lesson, argument: Option<String>) -> Result<bool> {
    let number = &lesson.manifest.lesson;
    let arguments = format!("test --no-run --package lesson{number} --bin grade{number}");
    let Some(built) = cargo::build(root, &arguments)? else {
        return Ok(false);
    };
    let program = built.iter().find_map(|about| about["executable"].as_str());
    let program = program.context("cargo built no program of the checks")?;
    let folder = root.join(format!("lessons/lesson{number}"));
    let status = Command::new(program).args(argument).current_dir(folder).status();
    Ok(status.context("the checks could not be started")?.success())
}

fn check(root: &Path, lessons: &[Lesson], what: Option<&str>) -> Result<bool> {
    let next = lessons::next(lessons, &Progress::load()).map(|(_, e)| &*e.id);
    let Some(what) = what.or(next) else {
        println!("All exercises are right. `cargo course check 01` runs a lesson again.");
        return Ok(true);
    };
    if what == "all" {
        let mut all = lessons.iter();
        return all.try_fold(true, |right, lesson| Ok(checks(root, lesson, None)? && right));
    }
    let (lesson, exercise) = lessons::named(lessons, what)?;
    let right = checks(root, lesson, exercise.map(|e| format!("{}::", e.id)))?;
    if right && exercise.is_some() {
        print!("\n{}", home::up_next(lessons, &Progress::load()));
    }
    Ok(right)
}

fn hint(lessons: &[Lesson], id: &str) -> Result<String> {
    let (_, exercise) = lessons::find(lessons, id)?;
    let Exercise { id, hints, .. } = exercise;
    let seen = progress::change(|progress| {
        let seen = progress.hints.entry(id.clone()).or_default();
        *seen = (*seen + 1).min(hints.len());
        *seen
    });
    let seen = seen.context("your progress could not be saved")?;
    let mut out = heading(&exercise.name());
    for (i, hint) in hints.iter().take(seen).enumerate() {
        out += &format!("\n  hint {} of {}\n", i + 1, hints.len());
        for line in paragraphs(hint, WIDTH - 4) {
            out += format!("    {line}").trim_end();
            out.push('\n');
        }
    }
    let more = match seen < hints.len() {
        true => format!("next hint: cargo course hint {id}"),
        false => format!("This was the last hint. canopy's own code: cargo course solution {id} --give-up"),
    };
    out.push_str(&style(format!("\n  {more}\n")).dim().to_string());
    Ok(out)
}
