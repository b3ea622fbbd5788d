//! The kill matrix: on the screen, or as a page of the book.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{cargo, lessons::Lesson};

const PAGE: &str = "book/src/kill-matrix.md";

/// The matrix of one lesson or of all; with `write`, the path of the page that was written.
pub fn text(root: &Path, lessons: &[Lesson], one: Option<String>, write: bool) -> Result<String> {
    let one = one.map(|name| format!("{name:0>2}"));
    let wanted = |l: &&Lesson| one.as_ref().is_none_or(|name| *name == l.manifest.lesson);
    let texts: Vec<String> = lessons
        .iter()
        .filter(wanted)
        .map(|l| of(root, l))
        .collect::<Result<_>>()?;
    ensure!(
        !texts.is_empty(),
        "there is no lesson {}; `cargo course` lists them",
        one.unwrap_or_default()
    );
    if !write {
        return Ok(texts.concat());
    }
    fs::write(root.join(PAGE), grader::matrix_page(&texts)).with_context(|| PAGE.to_owned())?;
    Ok(format!("written: {PAGE}\n"))
}

/// The matrix of a lesson, from its own test program.
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
        "the matrix of {name} could not be computed"
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
