//! Loads the grades of a class, and lists their lessons and exercises.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use grader::grades::{ExerciseGrade, Grade, LessonGrade, SCHEMA, Status};

/// A grade, and the name of the folder that it was read from.
pub struct Entry {
    pub folder: String,
    pub grade: Grade,
    /// Whether the exports for platforms have a row for the student: not if a roster does not contain them, because a
    /// platform rejects or misassigns rows of unknown students.
    pub listed: bool,
}

/// All submissions of a folder, ordered by the student's name.
#[derive(Default)]
pub struct Class {
    pub entries: Vec<Entry>,
    /// For each `grade.json` that cannot be read, which it is and why. It has an entry without a mark, too.
    pub damaged: Vec<String>,
}

impl Class {
    /// Reads every `DIR/*/grade.json`.
    ///
    /// # Errors
    /// Returns an error if `dir` cannot be read or contains no grade.
    pub fn load(dir: &Path) -> Result<Self> {
        let mut class = Self::default();
        for entry in fs::read_dir(dir).with_context(|| format!("{} cannot be read", dir.display()))? {
            let entry = entry?;
            let (path, folder) = (entry.path().join("grade.json"), entry.file_name());
            let folder = folder.to_string_lossy().into_owned();
            if folder.starts_with('.') || !path.is_file() {
                continue;
            }
            let grade = Grade::load(&path).unwrap_or_else(|error| {
                class.damaged.push(format!("{folder} has no mark: {error:#}"));
                Grade {
                    schema: SCHEMA,
                    submission: folder.clone(),
                    reason: Some(format!("{error:#}")),
                    ..Grade::default()
                }
            });
            class.entries.push(Entry {
                folder,
                grade,
                listed: true,
            });
        }
        ensure!(
            !class.entries.is_empty(),
            "{} contains no NAME/grade.json; `cargo course grade` writes them",
            dir.display()
        );
        let key = |e: &Entry| (e.grade.name().to_owned(), e.folder.clone());
        class.entries.sort_by_key(key);
        class.damaged.sort();
        Ok(class)
    }

    /// One of each lesson, in order.
    pub fn lessons(&self) -> Vec<&LessonGrade> {
        let lessons = self.entries.iter().flat_map(|e| &e.grade.lessons);
        let mut lessons: Vec<&LessonGrade> = lessons.collect();
        lessons.sort_by_key(|l| &l.lesson);
        lessons.dedup_by_key(|l| &l.lesson);
        lessons
    }

    /// One of each exercise, in order.
    pub fn exercises(&self) -> Vec<&ExerciseGrade> {
        self.lessons().into_iter().flat_map(|l| &l.exercises).collect()
    }
}

/// Points won in a lesson.
pub fn won(lesson: &LessonGrade) -> u32 {
    lesson.exercises.iter().map(|e| e.points).sum()
}

/// Points that a lesson has.
pub fn of(lesson: &LessonGrade) -> u32 {
    lesson.exercises.iter().map(|e| e.of).sum()
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
