//! The result of grading: one `grade.json` for each submission, from which all tables, pages and exports are created.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// The required value of a file's `schema`.
pub const SCHEMA: u32 = 2;

/// The grade of one submission.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The submission's name: that of its folder or archive, without its ending.
    pub submission: String,
    /// Who handed it in, and what is known about the time.
    #[serde(default)]
    pub origin: Origin,
    /// When it was handed in, in seconds since 1970 UTC, if known.
    pub submitted: Option<u64>,
    /// SHA-256 of the files that were taken from it.
    pub digest: String,
    /// The course's version, and the SHA-256 of the tree it was graded in.
    pub course: Course,
    /// The outcome of the submission as a whole.
    pub status: Status,
    /// The reason if the status is not [`Status::Graded`], for a student to read.
    pub reason: Option<String>,
    /// Files that were ignored because they may not be handed in, with reasons.
    pub left_out: Vec<String>,
    /// Lesson by lesson.
    pub lessons: Vec<LessonGrade>,
    /// The deduction for a late submission.
    pub late: Option<Late>,
    /// The seed of the checks' inputs.
    pub seed: u64,
    /// How long grading took, in seconds.
    pub seconds: f64,
    /// The parts of the sandbox that were active, such as `files` and `network`, and those that were not.
    pub sandbox: Sandbox,
}

/// Where a submission comes from, as far as the platform or a roster says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// Who handed it in.
    pub student: Student,
    /// The source of the time in [`Grade::submitted`]: `the roster`, or the student's clock.
    pub dated: String,
    /// Whether the platform marks it as late without a time.
    pub late: bool,
    /// Why the lateness is unknown. Nothing was deducted in that case.
    pub late_unknown: Option<String>,
}

/// A student; what is unknown is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Student {
    /// The name as the platform or the roster writes it.
    pub name: String,
    /// The email address.
    pub email: String,
    /// Number at the institution: Moodle's ID number, Canvas' SIS User ID, Gradescope's SID.
    pub id: String,
    /// Moodle's username, Canvas' SIS Login ID, GitHub's user.
    pub login: String,
    /// Canvas' own number.
    pub canvas: String,
    /// Canvas' section.
    pub section: String,
}

/// Which course it was graded against.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// Its version.
    pub version: String,
    /// SHA-256 of exercises, lessons, solutions and grader.
    pub digest: String,
}

/// The outcome of a submission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Its checks were run: the points are its own.
    Graded,
    /// It could not be read: a damaged archive, no exercise in it.
    Unreadable,
    /// It broke a rule for submissions.
    Refused,
    /// Grading it failed or was interrupted. The next run grades it again.
    #[default]
    NotGraded,
}

/// The grade of one lesson.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessonGrade {
    /// `01`.
    pub lesson: String,
    /// Its title.
    pub title: String,
    /// Why the whole lesson stopped: it does not compile, it exited the process, it ran out of time.
    pub stopped: Option<String>,
    /// Exercise by exercise.
    pub exercises: Vec<ExerciseGrade>,
}

/// The grade of one exercise. Its points count only if all of its checks are right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExerciseGrade {
    /// `1.2`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Points won.
    pub points: u32,
    /// Points that could be won.
    pub of: u32,
    /// Check by check.
    pub checks: Vec<CheckGrade>,
    /// A note that does not change the points: the answer calls the solution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckGrade {
    /// `stays_finite_for_huge_logits`.
    pub name: String,
    /// `right`, `wrong`, `to do`, `not run`.
    pub word: String,
    /// The report for the student, without colour.
    pub report: String,
}

/// A late submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Late {
    /// Seconds after the due time.
    pub seconds: u64,
    /// Per cent deducted from the points.
    pub percent: f64,
}

/// The sandbox of a submission.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Restrictions that were active.
    pub active: Vec<String>,
    /// Restrictions that were not available, and why.
    pub missing: Vec<String>,
}

impl Grade {
    /// The student's name; if it is unknown, the user name; if that is, too, the submission's name.
    pub fn name(&self) -> &str {
        let student = &self.origin.student;
        let mut names = [&student.name, &student.login, &self.submission].into_iter();
        names.find(|name| !name.is_empty()).map_or("", String::as_str)
    }

    /// Points won, before lateness.
    pub fn points(&self) -> u32 {
        self.exercises().map(|e| e.points).sum()
    }

    /// Points that could be won.
    pub fn of(&self) -> u32 {
        self.exercises().map(|e| e.of).sum()
    }

    /// The mark: points minus the deduction for lateness.
    pub fn mark(&self) -> f64 {
        let kept = self.late.as_ref().map_or(1.0, |l| 1.0 - l.percent / 100.0);
        f64::from(self.points()) * kept.clamp(0.0, 1.0)
    }

    /// All exercises of all lessons.
    pub fn exercises(&self) -> impl Iterator<Item = &ExerciseGrade> {
        self.lessons.iter().flat_map(|l| &l.exercises)
    }

    /// Reads a grade from `path`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not a grade, or has another schema.
    pub fn load(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
        let grade: Self = serde_json::from_str(&text).with_context(|| format!("{name} is not a grade"))?;
        let schema = grade.schema;
        ensure!(
            schema == SCHEMA,
            "{name}: schema {schema}, expected {SCHEMA}; grade it again"
        );
        Ok(grade)
    }
}
