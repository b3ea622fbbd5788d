//! `cargo course certificate`, `key` and `verify`: a page, signed with an instructor's key, which states that a student won
//! all points of some lessons.

pub mod key;
mod page;
mod seal;
#[cfg(test)]
mod tests;
pub mod verify;

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail, ensure};
use grader::grades::{Grade, Status};
use seal::{Statement, Won};

use crate::{
    late,
    lessons::{self, Lesson},
    marks::{clean, put},
};

/// Options of `cargo course certificate`.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  cargo course certificate graded/anna --lessons 01,02 --name \"Anna Müller\" --key \
    instructor.key --out certificates/anna"
)]
pub struct Options {
    /// Folder of a graded submission
    #[arg(value_name = "DIR/SUBMISSION", required_unless_present = "grade")]
    dir: Option<PathBuf>,
    /// Read this `grade.json` instead
    #[arg(long, value_name = "FILE", conflicts_with = "dir")]
    grade: Option<PathBuf>,
    /// Lessons to certify, such as `01,02`
    #[arg(long, value_name = "NN,…", value_delimiter = ',', required = true)]
    lessons: Vec<String>,
    /// Student's name, as it is printed on the certificate [default: the name in the grade]
    #[arg(long)]
    name: Option<String>,
    /// Instructor's key; `cargo course key new FILE` creates one
    #[arg(long, value_name = "KEYFILE")]
    key: PathBuf,
    /// Folder for certificate.html
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

/// Writes the certificate. If points are missing, prints which, and the exit code is 1.
///
/// # Errors
/// Returns an error if the grade or the key cannot be read, a lesson does not exist, the name cannot be printed, or a file
/// cannot be written.
pub fn run(lessons: &[Lesson], options: &Options) -> Result<ExitCode> {
    let path = match (&options.grade, &options.dir) {
        (Some(file), _) => file.clone(),
        (None, Some(dir)) => dir.join("grade.json"),
        (None, None) => bail!("name the folder of a graded submission, or its grade.json with --grade"),
    };
    let grade = Grade::load(&path)?;
    let won = match won(&grade, lessons, &options.lessons)? {
        Ok(won) => won,
        Err(missing) => {
            eprintln!("No certificate, because points are missing:");
            for line in missing {
                eprintln!("  {line}");
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now
        .context("the clock of this machine is set before 1970")?
        .as_secs();
    let name = options.name.as_ref().unwrap_or(&grade.origin.student.name);
    ensure!(
        !name.trim().is_empty(),
        "the grade does not contain the student's name; give it with --name"
    );
    // A name with other characters could imitate another name, or another line.
    ensure!(
        clean::line(name) == name.trim() && name.chars().count() <= 200,
        "a name on a certificate must have at most 200 characters, all printable, unlike {}",
        clean::cut(name, 200)
    );
    let statement = Statement {
        name: name.trim().to_owned(),
        lessons: won,
        date: late::rfc3339(now).chars().take(10).collect(),
        version: grade.course.version.clone(),
        course: grade.course.digest.clone(),
        submission: grade.digest.clone(),
    };
    let key = key::load(&options.key)?;
    let path = options.out.join("certificate.html");
    fs::create_dir_all(&options.out)
        .with_context(|| format!("{} cannot be created", options.out.display()))?;
    put(
        &path,
        seal::sealed(page::html(&statement, &key::public(&key))?, &key),
    )?;
    println!("{}\n\nsigned by  {}", path.display(), key::public(&key));
    println!("verify     cargo course verify {} --public KEY", path.display());
    Ok(ExitCode::SUCCESS)
}

/// Returns the chosen lessons with their titles and points, or a line for each exercise that lacks points. The points of an
/// exercise are those in the course, not those in the grade.
fn won(grade: &Grade, lessons: &[Lesson], chosen: &[String]) -> Result<Result<Vec<Won>, Vec<String>>> {
    let (mut won, mut missing) = (Vec::new(), Vec::new());
    if grade.status != Status::Graded {
        return Ok(Err(vec!["the submission was not graded".into()]));
    }
    for name in chosen {
        let manifest = &lessons::lesson(lessons, name)?.manifest;
        let twice = won.iter().any(|w: &Won| w.lesson == manifest.lesson);
        ensure!(!twice, "lesson {name} is listed twice");
        let graded = grade.lessons.iter().find(|l| l.lesson == manifest.lesson);
        for required in &manifest.exercises {
            let found = graded.and_then(|l| l.exercises.iter().find(|e| e.id == required.id));
            let points = found.map_or(0, |e| {
                if e.points == e.of {
                    e.points
                } else {
                    e.points.min(required.points)
                }
            });
            if found.is_none_or(|e| e.points != e.of) || points != required.points {
                missing.push(format!(
                    "{} {}: {points} of {} points",
                    required.id, required.title, required.points
                ));
            }
        }
        won.push(Won {
            lesson: manifest.lesson.clone(),
            title: manifest.title.clone(),
            points: manifest.points(),
        });
    }
    Ok(if missing.is_empty() { Ok(won) } else { Err(missing) })
}
