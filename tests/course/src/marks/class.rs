//! Loads the grades of a class, and what each table and page shows of a grade.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use grader::grades::{ExerciseGrade, Grade, LessonGrade, Status};

use super::clean;

/// All submissions of a folder.
#[derive(Default)]
pub struct Class {
    /// Ordered by the student's name. A submission has the name of its folder.
    pub grades: Vec<Grade>,
    /// Submissions without a row in the exports, because a platform rejects or misassigns rows of unknown students.
    pub unlisted: Vec<String>,
}

impl Class {
    /// Reads every `DIR/*/grade.json`.
    ///
    /// # Errors
    /// Returns an error if `dir` or a grade cannot be read, or `dir` contains no grade.
    pub fn load(dir: &Path) -> Result<Self> {
        let mut class = Self::default();
        for entry in fs::read_dir(dir).with_context(|| format!("{} cannot be read", dir.display()))? {
            let entry = entry?;
            let submission = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path().join("grade.json");
            if submission.starts_with('.') || !path.is_file() {
                continue;
            }
            let grade = Grade::load(&path).context("grade it again, or delete its folder")?;
            class.grades.push(Grade { submission, ..grade });
        }
        ensure!(
            !class.grades.is_empty(),
            "{} contains no NAME/grade.json; `cargo course grade` writes them",
            dir.display()
        );
        let key = |g: &Grade| (g.name().to_owned(), g.submission.clone());
        class.grades.sort_by_key(key);
        Ok(class)
    }

    /// One of each lesson, in order.
    pub fn lessons(&self) -> Vec<&LessonGrade> {
        let mut lessons: Vec<&LessonGrade> = self.grades.iter().flat_map(|g| &g.lessons).collect();
        lessons.sort_by_key(|l| &l.lesson);
        lessons.dedup_by_key(|l| &l.lesson);
        lessons
    }

    /// One of each exercise, in order.
    pub fn exercises(&self) -> Vec<&ExerciseGrade> {
        self.lessons().into_iter().flat_map(|l| &l.exercises).collect()
    }
}

/// The mark of a grade. A submission that could not be graded has none, which differs from 0.
pub fn mark(grade: &Grade) -> Option<f64> {
    (grade.status == Status::Graded).then(|| grade.mark())
}

/// Fraction of the points left after the penalty for lateness, 0 to 1.
pub fn kept(grade: &Grade) -> f64 {
    let off = grade.late.as_ref().map_or(0.0, |l| l.percent);
    (1.0 - off / 100.0).clamp(0.0, 1.0)
}

/// The penalty for lateness in percent.
pub fn late(grade: &Grade) -> String {
    let unknown = grade.origin.late_unknown.as_ref().map(|_| "unknown".to_owned());
    let percent = grade.late.as_ref().map(|late| clean::points(late.percent));
    percent.or(unknown).unwrap_or_default()
}

/// A word for the state of a submission.
pub fn status(grade: &Grade) -> &'static str {
    match grade.status {
        Status::Graded => "graded",
        Status::Unreadable => "could not be read",
        Status::Refused => "refused",
        Status::NotGraded => "not graded",
    }
}

/// Why there is no mark, why lateness is unknown, or why a lesson was stopped.
pub fn why(grade: &Grade) -> String {
    let late = grade.origin.late_unknown.iter();
    let late = late.map(|why| format!("lateness unknown: {why}"));
    let stopped = grade.lessons.iter().filter_map(|l| {
        let why = l.stopped.as_ref()?;
        Some(format!("lesson {}: {why}", l.lesson))
    });
    let all: Vec<String> = grade.reason.iter().cloned().chain(late).chain(stopped).collect();
    clean::cut(&all.join("; "), 300)
}

/// State of an exercise, as shown in tables. If its lesson was stopped, no check ran.
pub fn state(exercise: &ExerciseGrade) -> &'static str {
    if exercise.checks.is_empty() {
        return "not run";
    }
    match grader::worst(exercise.checks.iter().map(|c| &*c.word)) {
        // It calls the solution, and such calls are refused.
        "right" if exercise.points < exercise.of => "to do",
        word => word,
    }
}
