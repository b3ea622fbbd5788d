//! The kill matrix, printed or written as a page of the book.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{
    cargo,
    lessons::{self, Lesson},
};

const PAGE: &str = "book/src/kill-matrix.md";

/// Returns the matrix of one lesson or of all, or with `write` the name of the file that was written.
pub fn matrix(root: &Path, lessons: &[Lesson], one: Option<String>, write: bool) -> Result<String> {
    if let Some(number) = one {
        return of(root, lessons::lesson(lessons, &number)?);
    }
    let texts: Vec<String> = lessons.iter().map(|l| of(root, l)).collect::<Result<_>>()?;
    if !write {
        return Ok(texts.concat());
    }
    fs::write(root.join(PAGE), grader::matrix_page(&texts)).with_context(|| PAGE.to_owned())?;
    Ok(format!("wrote {PAGE}\n"))
}

/// Runs the lesson's own test program.
fn of(root: &Path, lesson: &Lesson) -> Result<String> {
    let name = format!("lesson{}", lesson.manifest.lesson);
    let program =
        cargo::checks(root, &lesson.manifest.lesson)?.with_context(|| format!("{name} cannot be built"))?;
    let output = Command::new(program)
        .arg("--matrix")
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("the checks of {name} could not be started"))?;
    ensure!(
        output.status.success(),
        "the matrix of {name} could not be created"
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
