//! `cargo course`: the companion of a student. Where am I, what is next, a hint.

mod book;
mod cargo;
mod certificate;
mod doctor;
mod extract;
mod grade;
mod home;
mod lessons;
mod marks;
mod matrix;
mod new;
mod pack;
mod report;
mod reset;
mod solution;
mod version;
mod watch;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use grader::{
    paths,
    progress::{self, Progress},
    tell::{Ink, WIDTH, paragraphs, wrap},
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
    /// Check a lesson (`check 01`), one exercise (`check 1.2`) or `all`; without a name, the next exercise.
    Check { what: Option<String> },
    /// A hint for an exercise: a question, then a pointer, then nearly the code; one more each time.
    Hint { exercise: String },
    /// Checks whenever you save, on a screen: one exercise after the other, with hints (`watch`, `watch 01`).
    Watch { lesson: Option<String> },
    /// canopy's own function for an exercise: after a pass, or when you give up, which is noted.
    Solution {
        exercise: String,
        /// Show it before the exercise is right.
        #[arg(long)]
        give_up: bool,
    },
    /// The book, offline, in your browser: from the start, at a lesson (`book 01`) or an exercise (`book 1.2`).
    Book {
        what: Option<String>,
        /// Only say where its pages are.
        #[arg(long)]
        no_open: bool,
    },
    /// Your progress as a page to show: `target/course/report.html`, or where `--out` says.
    Report {
        /// Whose it is.
        #[arg(long, default_value = "")]
        name: String,
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// What this machine has of what the course can use; fails only where `cargo test` could not run.
    Doctor {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// The empty function again; yours is kept beside it.
    Reset { exercise: String },
    /// The next exercise: what is asked, and where.
    Next,
    /// For instructors: grade submissions, each held in a sandbox.
    Grade(grade::Options),
    /// What `grade` starts for each program that it does not trust.
    #[command(hide = true)]
    Hold { spec: String },
    /// What you hand in, as one archive: your exercises and nothing else.
    Pack(pack::Options),
    /// For instructors: tables, exports and pages of what `grade` left.
    Marks(marks::Options),
    /// For instructors: that a student won all points of some lessons, signed.
    Certificate(certificate::Options),
    /// For instructors: the key that signs certificates.
    #[command(subcommand)]
    Key(certificate::key::Task),
    /// Whether a certificate is as it was signed, and by whom.
    Verify(certificate::verify::Options),
    /// For authors: the skeleton of a lesson (`new 14 "Title"`), with its exercise and its chapter.
    New {
        /// The lesson's number
        lesson: u32,
        /// Its title
        title: String,
    },
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
    // `… | head` ends a program quietly; Rust would panic.
    #[cfg(unix)]
    // SAFETY: nothing else runs yet.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
    match run(Options::parse()) {
        Ok(code) => code,
        Err(error) => {
            let message = format!("cargo course: {error:#}");
            for line in message.lines() {
                // A line that is indented or fits stays as it is.
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
    // These need no course around them.
    match &options.command {
        Some(Task::Verify(options)) => return certificate::verify::run(options),
        Some(Task::Hold { spec }) => return Ok(grade::hold(spec)?.into()),
        Some(Task::Key(task)) => return certificate::key::run(task).map(|()| ExitCode::SUCCESS),
        _ => {}
    }
    let root = paths::root().context("this is not within the course's folder")?;
    let ink = Ink::auto();
    // Before the lessons are read: they may be what is not well.
    if let Some(Task::Doctor { json }) = options.command {
        let (text, well) = doctor::report(&root, json, ink)?;
        print!("{text}");
        return Ok(if well {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    let lessons = lessons::all(&root)?;
    match options.command {
        None => {
            let (progress, trouble) = Progress::look();
            print!("{}", home::screen(&lessons, &progress, trouble.as_ref(), ink));
        }
        Some(Task::Doctor { .. }) => {}
        Some(Task::Next) => print!("{}", home::next(&lessons, &Progress::load(), ink)),
        Some(Task::Check { what }) => return check(&root, &lessons, what),
        Some(Task::Hint { exercise }) => print!("{}", hint(&lessons, &exercise, ink)?),
        Some(Task::Watch { lesson }) => return watch::watch(&root, lessons, lesson),
        Some(Task::Solution { exercise, give_up }) => {
            print!(
                "{}",
                solution::solution(&root, &lessons, &exercise, give_up, ink)?
            );
        }
        Some(Task::Book { what, no_open }) => {
            print!("{}", book::book(&root, &lessons, what.as_deref(), !no_open)?);
        }
        Some(Task::Report { name, out }) => {
            print!("{}", report::report(&root, &lessons, &name, out.as_deref())?);
        }
        Some(Task::Reset { exercise }) => {
            let (lesson, one) = lessons::find(&lessons, &exercise)?;
            let kept = reset::reset(&root, lesson, one)?;
            println!(
                "{} {} is as it was handed out.\nThe file as you had it: {kept}",
                one.id, one.title
            );
        }
        Some(Task::Grade(options)) => return Ok(grade::run(&root, options)),
        Some(Task::Pack(options)) => pack::run(&root, &lessons, &options)?,
        Some(Task::Marks(options)) => return marks::run(&options),
        Some(Task::Certificate(options)) => return certificate::run(&lessons, &options),
        Some(Task::Key(_) | Task::Verify(_) | Task::Hold { .. }) => {}
        Some(Task::New { lesson, title }) => print!("{}", new::new(&root, lesson, &title)?),
        Some(Task::Matrix { lesson, write }) => print!("{}", matrix::text(&root, &lessons, lesson, write)?),
    }
    Ok(ExitCode::SUCCESS)
}

/// As `cargo test -p lessonNN -- …`, without cargo's own last words on a test that failed.
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
    match lessons
        .iter()
        .find(|l| l.manifest.lesson == format!("{what:0>2}"))
    {
        Some(lesson) => grade(root, &lesson.manifest.lesson, &[]),
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
        for line in paragraphs(hint, 76) {
            out.push_str(format!("    {line}").trim_end());
            out.push('\n');
        }
    }
    if seen < exercise.hints.len() {
        let more = format!("\n  one more: cargo course hint {}\n", exercise.id);
        out.push_str(&ink.faint(&more));
    }
    Ok(out)
}
