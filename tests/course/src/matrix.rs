//! The kill matrix, printed.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{
    cargo,
    lessons::{self, Lesson},
};

/// Returns the matrix of one lesson, or of all.
pub fn matrix(root: &Path, lessons: &[Lesson], one: Option<String>) -> Result<String> {
    match one {
        Some(number) => of(root, lessons::lesson(lessons, &number)?),
        None => lessons.iter().map(|lesson| of(root, lesson)).collect(),
    }
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
