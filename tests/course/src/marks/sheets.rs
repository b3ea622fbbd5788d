//! Spreadsheets: our own, and those that Moodle and Canvas import.

use anyhow::{Context, Result};
use grader::grades::{Grade, Status, Student};

use super::{Class, clean, kept, mark, state};
use crate::late::rfc3339;

/// Maximum characters of the feedback for Moodle.
const FEEDBACK: usize = 1_500;

fn written(rows: impl IntoIterator<Item = Vec<String>>) -> Result<String> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    for row in rows {
        writer.write_record(row)?;
    }
    let bytes = writer.into_inner().context("the table could not be written")?;
    Ok(String::from_utf8(bytes)?)
}

/// One row per submission: points of each exercise, their sum, possible points, penalty, mark.
pub fn csv(class: &Class) -> Result<String> {
    let exercises = class.exercises();
    let mut head: Vec<String> = ["submission", "name", "status", "submitted", "submitted_by"]
        .map(String::from)
        .into();
    head.extend(exercises.iter().map(|(id, ..)| clean::cell(id)));
    let rest = [
        "points",
        "of",
        "late_seconds",
        "late_percent",
        "mark",
        "reason",
        "course",
        "digest",
    ];
    head.extend(rest.map(String::from));
    let mut rows = vec![head];
    for entry in &class.entries {
        let grade = &entry.grade;
        let mut row = vec![
            clean::cell(&entry.folder),
            clean::cell(&grade.origin.student.name),
            status(grade.status).into(),
            grade.submitted.map(rfc3339).unwrap_or_default(),
            clean::cell(&grade.origin.dated),
        ];
        row.extend(exercises.iter().map(|(id, ..)| {
            let found = grade.exercises().find(|e| e.id == *id);
            found.map_or_else(String::new, |e| e.points.to_string())
        }));
        let graded = grade.status == Status::Graded;
        let if_graded = |text: String| if graded { text } else { String::new() };
        let late = grade.late.as_ref();
        let unknown = || {
            grade
                .origin
                .late_unknown
                .as_ref()
                .map_or("", |_| "unknown")
                .to_owned()
        };
        row.extend([
            if_graded(grade.points().to_string()),
            if_graded(grade.of().to_string()),
            late.map_or_else(unknown, |l| l.seconds.to_string()),
            late.map_or_else(unknown, |l| clean::points(l.percent)),
            mark(grade).map(clean::points).unwrap_or_default(),
            clean::cell(&why(grade)),
            clean::cell(&grade.course.version),
            clean::cell(&grade.digest),
        ]);
        rows.push(row);
    }
    written(rows)
}

/// A word for a status.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Graded => "graded",
        Status::Unreadable => "could not be read",
        Status::Refused => "refused",
        Status::NotGraded => "not graded",
    }
}

/// Why there is no mark, why lateness is unknown, or why a lesson was stopped.
pub fn why(grade: &Grade) -> String {
    let stopped = grade.lessons.iter().filter_map(|l| {
        let why = l.stopped.as_ref()?;
        Some(format!("lesson {}: {why}", l.lesson))
    });
    let late = grade
        .origin
        .late_unknown
        .iter()
        .map(|why| format!("lateness unknown: {why}"));
    let all: Vec<String> = grade.reason.iter().cloned().chain(late).chain(stopped).collect();
    clean::cut(&all.join("; "), 300)
}

/// Columns of marks for a platform: name, possible points, and the mark of each grade.
struct Columns {
    names: Vec<(String, u32)>,
    lessons: Vec<String>,
}

impl Columns {
    fn of(class: &Class, one: Option<&str>) -> Self {
        let lessons = class.lessons();
        match one {
            Some(name) => Self {
                names: vec![(clean::cell(name), lessons.iter().map(|l| l.2).sum())],
                lessons: Vec::new(),
            },
            None => Self {
                names: lessons
                    .iter()
                    .map(|(n, title, of)| (clean::cell(&format!("Lesson {n}: {title}")), *of))
                    .collect(),
                lessons: lessons.into_iter().map(|l| l.0).collect(),
            },
        }
    }

    fn marks(&self, grade: &Grade) -> Vec<String> {
        if grade.status != Status::Graded {
            return vec![String::new(); self.names.len()];
        }
        if self.lessons.is_empty() {
            return vec![clean::points(grade.mark())];
        }
        let of = |number: &String| {
            let lesson = grade.lessons.iter().find(|l| l.lesson == *number)?;
            let points: u32 = lesson.exercises.iter().map(|e| e.points).sum();
            Some(clean::points(f64::from(points) * kept(grade)))
        };
        self.lessons.iter().map(|n| of(n).unwrap_or_default()).collect()
    }
}

/// For Moodle's Grades, Import, CSV file: columns that identify a user, columns of marks, one of feedback.
pub fn moodle(class: &Class, column: Option<&str>) -> Result<String> {
    let columns = Columns::of(class, column);
    let mut head: Vec<String> = ["Full name", "ID number", "Username", "Email address"]
        .map(String::from)
        .into();
    head.extend(columns.names.iter().map(|(name, _)| name.clone()));
    head.push("Feedback".into());
    let mut rows = vec![head];
    for (grade, [name, id, login, email, ..]) in students(class) {
        let mut row = vec![name, id, login, email];
        row.extend(columns.marks(grade));
        row.push(feedback(grade));
        rows.push(row);
    }
    written(rows)
}

/// Each student who is listed, with the grade of the submission.
fn students(class: &Class) -> impl Iterator<Item = (&Grade, [String; 6])> {
    let listed = class.entries.iter().filter(|e| e.listed);
    listed.map(|e| (&e.grade, cells(&e.grade.submission, &e.grade.origin.student)))
}

/// Name, ID, login, email, Canvas' number and section. If nothing is known about the student, the ID is the
/// submission's name.
fn cells(submission: &str, known: &Student) -> [String; 6] {
    let id = match *known == Student::default() {
        true => submission,
        false => &known.id,
    };
    let names = [&*known.name, &*known.login, submission];
    [
        names.into_iter().find(|n| !n.is_empty()).unwrap_or_default(),
        id,
        &known.login,
        &known.email,
        &known.canvas,
        &known.section,
    ]
    .map(clean::cell)
}

/// The feedback beside a mark. Moodle interprets markup, so it is escaped.
fn feedback(grade: &Grade) -> String {
    let mut parts = Vec::new();
    if grade.status != Status::Graded {
        parts.push(why(grade));
    } else {
        parts.push(format!("{} of {} points", grade.points(), grade.of()));
        if let Some(late) = &grade.late {
            parts.push(format!("{} % deducted for lateness", clean::points(late.percent)));
        }
        if !why(grade).is_empty() {
            parts.push(why(grade));
        }
        for e in grade
            .exercises()
            .filter(|e| state(e) != "right" && !e.checks.is_empty())
        {
            let wrong = e
                .checks
                .iter()
                .filter(|c| c.word == "wrong")
                .map(|c| c.name.replace('_', " "));
            let wrong: Vec<String> = wrong.collect();
            let colon = if wrong.is_empty() { "" } else { ": " };
            parts.push(format!("{} {}{colon}{}", e.id, state(e), wrong.join(", ")));
        }
    }
    let text = clean::cut(&parts.join("; "), FEEDBACK);
    clean::cell(
        &text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;"),
    )
}

/// For Canvas' Gradebook, Import: `Student`, `ID`, `SIS User ID`, `SIS Login ID`, `Section`, then a column per
/// assignment; the second row contains the possible points.
pub fn canvas(class: &Class, column: Option<&str>) -> Result<String> {
    let columns = Columns::of(class, column);
    let mut head: Vec<String> = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
        .map(String::from)
        .into();
    head.extend(columns.names.iter().map(|(name, _)| name.clone()));
    let mut possible: Vec<String> = ["    Points Possible", "", "", "", ""].map(String::from).into();
    possible.extend(columns.names.iter().map(|(_, of)| of.to_string()));
    let mut rows = vec![head, possible];
    for (grade, [name, id, login, _, canvas, section]) in students(class) {
        // Canvas treats every row whose first cell contains these words as the row of possible points.
        let name = name.replace("Points Possible", "Points possible");
        let mut row = vec![name, canvas, id, login, section];
        row.extend(columns.marks(grade));
        rows.push(row);
    }
    written(rows)
}
