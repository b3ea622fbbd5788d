//! The kill matrix, printed.

use std::{path::Path, process::Command, slice};

use anyhow::{Context, Result, ensure};

use crate::{
    cargo,
    lessons::{self, Lesson},
};

/// Prints the matrix of one lesson, or of all, with the lesson's own test program.
pub fn matrix(root: &Path, lessons: &[Lesson], one: Option<&str>) -> Result<()> {
    let lessons = match one {
        Some(number) => slice::from_ref(lessons::lesson(lessons, number)?),
        None => lessons,
    };
    for lesson in lessons {
        let number = &lesson.manifest.lesson;
        let program = cargo::checks(root, number)?;
        let program = program.with_context(|| format!("lesson{number} cannot be built"))?;
        let status = Command::new(program).arg("--matrix").current_dir(root).status();
        ensure!(
            status.is_ok_and(|s| s.success()),
            "the matrix of lesson{number} could not be created"
        );
    }
    Ok(())
}
