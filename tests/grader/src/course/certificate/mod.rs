//! `cargo course certificate`, `key` and `verify`: that a student won all points of some lessons, signed by an
//! instructor's key.

pub mod key;
mod latin;
mod page;
mod pdf;
mod seal;
mod statement;
#[cfg(test)]
mod tests;
pub mod verify;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};
use grader::{
    Manifest,
    grades::{Grade, Status},
    late,
};
use seal::Sealed;
use statement::{Statement, Won};

use crate::lessons::Lesson;

/// Options of `cargo course certificate`.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  cargo course certificate graded/anna --lessons 01,02 --name \"Anna Müller\" --key \
    instructor.key --out certificates/anna"
)]
pub struct Options {
    /// The folder of a graded submission.
    #[arg(value_name = "DIR/SUBMISSION", required_unless_present = "grade")]
    dir: Option<PathBuf>,
    /// Or its `grade.json`.
    #[arg(long, value_name = "FILE", conflicts_with = "dir")]
    grade: Option<PathBuf>,
    /// The lessons that it is about: `01,02`.
    #[arg(long, value_name = "NN,…", value_delimiter = ',', required = true)]
    lessons: Vec<String>,
    /// The student's name, as it is to stand there.
    #[arg(long)]
    name: String,
    /// The instructor's key; `cargo course key new FILE` makes one.
    #[arg(long, value_name = "KEYFILE")]
    key: PathBuf,
    /// The folder for certificate.html, .pdf and .json.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

/// Writes the certificate; where points are missing, says which, and the exit code is 1.
///
/// # Errors
/// The grade or key cannot be read, a lesson is not there, the name is none, those of the file system.
pub fn run(lessons: &[Lesson], options: &Options) -> Result<ExitCode> {
    let path = match (&options.grade, &options.dir) {
        (Some(file), _) => file.clone(),
        (None, Some(dir)) => dir.join("grade.json"),
        (None, None) => bail!("a graded submission is needed"),
    };
    let grade = Grade::load(&path)?;
    let manifests: Vec<&Manifest> = lessons.iter().map(|l| &l.manifest).collect();
    let won = match won(&grade, &manifests, &options.lessons)? {
        Ok(won) => won,
        Err(missing) => {
            eprintln!("No certificate: not all points are won.");
            for line in missing {
                eprintln!("  {line}");
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.context("the clock stands before 1970")?.as_secs();
    let statement = Statement {
        name: options.name.split_whitespace().collect::<Vec<_>>().join(" "),
        lessons: won,
        date: late::rfc3339(now).chars().take(10).collect(),
        version: grade.course.version.clone(),
        course: grade.course.digest.clone(),
        submission: grade.digest.clone(),
    };
    let key = key::load(&options.key)?;
    write(&options.out, &Sealed::new(&statement, &key)?, &statement, &key)?;
    Ok(ExitCode::SUCCESS)
}

/// The chosen lessons, each with its title and points, or what is missing. What counts is what the course asks, not
/// what the grade says could be won.
fn won(grade: &Grade, manifests: &[&Manifest], chosen: &[String]) -> Result<Result<Vec<Won>, Vec<String>>> {
    let (mut won, mut missing) = (Vec::new(), Vec::new());
    if grade.status != Status::Graded {
        return Ok(Err(vec!["the submission was not graded".into()]));
    }
    for name in chosen {
        let digits = format!("{:0>2}", name.trim());
        let manifest = manifests.iter().find(|m| m.lesson == digits);
        let manifest =
            manifest.with_context(|| format!("there is no lesson {name}; `cargo course` lists them"))?;
        let twice = won.iter().any(|w: &Won| w.lesson == digits);
        ensure!(!twice, "lesson {digits} is named twice");
        let graded = grade.lessons.iter().find(|l| l.lesson == digits);
        for asked in &manifest.exercises {
            let found = graded.and_then(|l| l.exercises.iter().find(|e| e.id == asked.id));
            let points = found.map_or(0, |e| {
                if e.points == e.of {
                    e.points
                } else {
                    e.points.min(asked.points)
                }
            });
            if found.is_none_or(|e| e.points != e.of) || points != asked.points {
                missing.push(format!(
                    "{} {}: {points} of {} points",
                    asked.id, asked.title, asked.points
                ));
            }
        }
        won.push(Won {
            lesson: digits,
            title: manifest.title.clone(),
            points: manifest.points(),
        });
    }
    Ok(if missing.is_empty() { Ok(won) } else { Err(missing) })
}

fn write(out: &Path, sealed: &Sealed, statement: &Statement, key: &ed25519_dalek::SigningKey) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("{} cannot be made", out.display()))?;
    let put = |name: &str, bytes: &[u8]| {
        let path = out.join(name);
        let next = path.with_extension(format!("{}.tmp", std::process::id()));
        fs::write(&next, bytes)
            .and_then(|()| fs::rename(&next, &path))
            .with_context(|| format!("{} cannot be written", path.display()))?;
        println!("{}", path.display());
        anyhow::Ok(())
    };
    put(
        "certificate.json",
        (serde_json::to_string_pretty(sealed)? + "\n").as_bytes(),
    )?;
    let html = page::html(sealed, statement)?;
    put(
        "certificate.html",
        &seal::closed(html.into_bytes(), seal::Kind::Html, key),
    )?;
    match pdf::pdf(sealed, statement)? {
        Ok(bytes) => put("certificate.pdf", &seal::closed(bytes, seal::Kind::Pdf, key))?,
        Err(letters) => {
            // An older one, of another name, must not stay beside the new files.
            let old = out.join("certificate.pdf");
            if old.is_file() {
                fs::remove_file(&old)
                    .with_context(|| format!("{} is old and cannot be removed", old.display()))?;
            }
            eprintln!("cargo course: no PDF, because its fonts do not have {letters}.");
            eprintln!("Print certificate.html instead; only the page itself and the JSON can be verified.");
        }
    }
    println!("\nsigned by  {}", key::public(key));
    println!(
        "verify     cargo course verify {} --public KEY",
        out.join("certificate.json").display()
    );
    Ok(())
}
