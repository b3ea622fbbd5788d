//! `cargo course`: progress, checks, hints and the book for students; grading, marks and certificates for instructors.

mod book;
mod cargo;
mod certificate;
mod extract;
mod grade;
mod home;
mod late;
mod lessons;
mod marks;
mod matrix;
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

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use grader::{
    paths,
    progress::{self, Progress},
    tell::{Ink, WIDTH, paragraphs, wrap},
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
        /// Print the address of the page without opening it
        #[arg(long)]
        no_open: bool,
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
    /// Job scripts for a cluster with Slurm, from the templates of slurm/
    #[command(subcommand)]
    Slurm(slurm::Task),
    /// For authors: write the skeleton of a lesson, with its exercise and its chapter (`new 14 "Title"`)
    New {
        /// Number of the lesson
        lesson: u32,
        /// Title of the lesson
        title: String,
    },
    /// Print as Markdown which check catches which known mistake
    Matrix {
        /// A lesson, such as `02` [default: all lessons]
        lesson: Option<String>,
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
            let message = format!("cargo course: {error:#}");
            for line in message.lines() {
                // Only long lines without indentation are wrapped.
                let lines = if line.chars().count() <= WIDTH || line.starts_with(' ') {
                    vec![line.to_owned()]
                } else {
                    wrap(line, WIDTH)
                };
                eprintln!("{}", lines.join("\n"));
            }
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<ExitCode> {
    let root = paths::root()
        .context("this is not the course's folder, nor a folder in it; change to it and try again")?;
    let ink = Ink::auto();
    let lessons = lessons::all(&root)?;
    match options.command {
        None => {
            let (progress, trouble) = Progress::look();
            print!("{}", home::screen(&lessons, &progress, trouble.as_deref(), ink));
        }
        Some(Task::Slurm(task)) => slurm::run(&root, &task)?,
        Some(Task::Next) => print!("{}", home::next(&lessons, &Progress::load(), ink)),
        Some(Task::Check { what }) => return check(&root, &lessons, what),
        Some(Task::Hint { exercise }) => print!("{}", hint(&lessons, &exercise, ink)?),
        Some(Task::Watch { what }) => return watch::watch(&root, &lessons, what.as_deref()),
        Some(Task::Solution { exercise, give_up }) => {
            print!(
                "{}",
                solution::solution(&root, &lessons, &exercise, give_up, ink)?
            );
        }
        Some(Task::Book { what, no_open }) => {
            print!("{}", book::book(&root, &lessons, what.as_deref(), !no_open)?);
        }
        Some(Task::Reset { exercise }) => {
            let (lesson, one) = lessons::find(&lessons, &exercise)?;
            let kept = reset::reset(&root, lesson, one)?;
            println!(
                "{} {} is empty again.\nA copy of your file: {kept}",
                one.id, one.title
            );
        }
        Some(Task::Grade(options)) => return Ok(grade::run(&root, options)),
        Some(Task::Pack(options)) => pack::run(&root, &lessons, &options)?,
        Some(Task::Marks(options)) => return marks::run(&options),
        Some(Task::Certificate(options)) => return certificate::run(&lessons, &options),
        Some(Task::New { lesson, title }) => print!("{}", new::new(&root, lesson, &title)?),
        Some(Task::Matrix { lesson }) => print!("{}", matrix::matrix(&root, &lessons, lesson)?),
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `cargo test -p lessonNN -- …` without cargo's own message about a failed test.
fn grade(root: &Path, lesson: &str, more: &[&str]) -> Result<ExitCode> {
    let Some(program) = cargo::checks(root, lesson)? else {
        return Ok(ExitCode::FAILURE);
    };
    let folder = root.join(format!("lessons/lesson{lesson}"));
    let status = Command::new(program).args(more).current_dir(folder).status();
    Ok(if status.context("the checks could not be started")?.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn check(root: &Path, lessons: &[Lesson], what: Option<String>) -> Result<ExitCode> {
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
    if what == "all" {
        let mut worst = ExitCode::SUCCESS;
        for lesson in lessons {
            let code = grade(root, &lesson.manifest.lesson, &[])?;
            if code != ExitCode::SUCCESS {
                worst = code;
            }
        }
        return Ok(worst);
    }
    if what.contains('.') {
        let (lesson, exercise) = lessons::find(lessons, &what)?;
        let code = grade(root, &lesson.manifest.lesson, &[&format!("{}::", exercise.id)])?;
        if code == ExitCode::SUCCESS {
            print!("\n{}", home::up_next(lessons, &Progress::load(), Ink::auto()));
        }
        return Ok(code);
    }
    grade(root, &lessons::lesson(lessons, &what)?.manifest.lesson, &[])
}

/// The message after the last hint.
fn no_more_hints(exercise: &grader::Exercise) -> String {
    let id = &exercise.id;
    format!("This was the last hint. canopy's own code: cargo course solution {id} --give-up")
}

fn hint(lessons: &[Lesson], id: &str, ink: Ink) -> Result<String> {
    let (_, exercise) = lessons::find(lessons, id)?;
    let seen = progress::change(|progress| {
        let seen = progress.hints.entry(exercise.id.clone()).or_default();
        *seen = (*seen + 1).min(exercise.hints.len());
        *seen
    });
    let seen = seen.context("your progress could not be saved")?;
    let mut out = format!("{}\n", ink.bold(&format!("{} {}", exercise.id, exercise.title)));
    for (i, hint) in exercise.hints.iter().take(seen).enumerate() {
        out.push_str(&format!("\n  hint {} of {}\n", i + 1, exercise.hints.len()));
        for line in paragraphs(hint, 76) {
            out.push_str(format!("    {line}").trim_end());
            out.push('\n');
        }
    }
    let more = if seen < exercise.hints.len() {
        format!("\n  next hint: cargo course hint {}\n", exercise.id)
    } else {
        format!("\n  {}\n", no_more_hints(exercise))
    };
    out.push_str(&ink.faint(&more));
    Ok(out)
}
