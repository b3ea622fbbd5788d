//! Loads the grades of a class, and lists their lessons and exercises.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use grader::grades::{ExerciseGrade, Grade, SCHEMA, Status};

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
    /// Folders whose `grade.json` cannot be read, with the reason. They have an entry without a mark, too.
    pub damaged: Vec<(String, String)>,
}

impl Class {
    /// Reads every `DIR/*/grade.json`, or `DIR/grade.json` alone.
    ///
    /// # Errors
    /// Returns an error if `dir` cannot be read or contains no grade.
    pub fn load(dir: &Path) -> Result<Self> {
        let mut class = Self::default();
        if dir.join("grade.json").is_file() {
            let folder = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
            let folder = folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            class.read(dir, folder);
        } else {
            let listed = fs::read_dir(dir).with_context(|| format!("{} cannot be read", dir.display()))?;
            for entry in listed {
                let entry = entry?;
                let folder = entry.file_name().to_string_lossy().into_owned();
                if !folder.starts_with('.') && entry.path().join("grade.json").is_file() {
                    class.read(&entry.path(), folder);
                }
            }
        }
        ensure!(
            !class.entries.is_empty(),
            "{} contains no grade.json; `cargo course grade` writes them",
            dir.display()
        );
        class
            .entries
            .sort_by(|a, b| (a.grade.name(), &a.folder).cmp(&(b.grade.name(), &b.folder)));
        class.damaged.sort();
        Ok(class)
    }

    fn read(&mut self, path: &Path, folder: String) {
        let grade = Grade::load(&path.join("grade.json")).unwrap_or_else(|error| {
            let why = format!("{error:#}");
            self.damaged.push((folder.clone(), why.clone()));
            Grade {
                schema: SCHEMA,
                submission: folder.clone(),
                reason: Some(why),
                ..Grade::default()
            }
        });
        self.entries.push(Entry {
            folder,
            grade,
            listed: true,
        });
    }

    /// All lessons with their titles and points, in order.
    pub fn lessons(&self) -> Vec<(String, String, u32)> {
        let mut lessons: Vec<(String, String, u32)> = Vec::new();
        for lesson in self.entries.iter().flat_map(|e| &e.grade.lessons) {
            let of = lesson.exercises.iter().map(|e| e.of).sum();
            match lessons.iter_mut().find(|f| f.0 == lesson.lesson) {
                Some(known) => known.2 = known.2.max(of),
                None => lessons.push((lesson.lesson.clone(), lesson.title.clone(), of)),
            }
        }
        lessons.sort();
        lessons
    }

    /// All exercises with their titles and points, in order.
    pub fn exercises(&self) -> Vec<(String, String, u32)> {
        let mut exercises: Vec<(String, String, u32)> = Vec::new();
        for e in self.entries.iter().flat_map(|e| e.grade.exercises()) {
            if !exercises.iter().any(|f| f.0 == e.id) {
                exercises.push((e.id.clone(), e.title.clone(), e.of));
            }
        }
        let number = |id: &str| {
            id.split('.')
                .map(|n| n.parse().unwrap_or(u32::MAX))
                .collect::<Vec<u32>>()
        };
        exercises.sort_by(|a, b| number(&a.0).cmp(&number(&b.0)).then_with(|| a.0.cmp(&b.0)));
        exercises
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
