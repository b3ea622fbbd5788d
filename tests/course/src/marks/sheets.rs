//! Spreadsheets: `marks.csv`, which Moodle imports as well, and `canvas.csv`.

use anyhow::{Context, Result};
use grader::grades::{Grade, LessonGrade, Status, Student};

use super::{Class, clean, kept, mark, of, state, won};
use crate::late::rfc3339;

fn written(rows: Vec<Vec<String>>) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row.iter().map(|cell| clean::cell(cell)))?;
    }
    let bytes = writer.into_inner().context("the table could not be written")?;
    Ok(String::from_utf8(bytes)?)
}

fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).into()
}

/// One row per submission: the student, points of each exercise, their sum, penalty, the mark of each lesson.
pub fn marks(class: &Class) -> Result<String> {
    let (lessons, exercises) = (class.lessons(), class.exercises());
    let mut head = cells(["submission", "name", "id", "login", "email", "status"]);
    head.extend(exercises.iter().map(|e| e.id.clone()));
    head.extend(lessons.iter().map(|l| title(l)));
    head.extend(cells(["points", "of", "late_percent", "mark", "feedback"]));
    head.extend(cells(["reason", "submitted", "submitted_by", "course", "digest"]));
    let mut rows = vec![head];
    for entry in class.entries.iter().filter(|e| e.listed) {
        let (grade, origin) = (&entry.grade, &entry.grade.origin);
        let (s, status) = (&origin.student, status(grade.status));
        let mut row = cells([&entry.folder, &s.name, &s.id, &s.login, &s.email, status]);
        row.extend(exercises.iter().map(|e| {
            let own = grade.exercises().find(|own| own.id == e.id);
            own.map(|own| own.points.to_string()).unwrap_or_default()
        }));
        row.extend(marks_of(grade, &lessons));
        let graded = |text: String| mark(grade).map(|_| text).unwrap_or_default();
        let unknown = origin.late_unknown.as_ref().map(|_| "unknown".to_owned());
        let late = grade.late.as_ref().map(|late| clean::points(late.percent));
        row.extend([
            graded(grade.points().to_string()),
            graded(grade.of().to_string()),
            late.or(unknown).unwrap_or_default(),
            mark(grade).map(clean::points).unwrap_or_default(),
            feedback(grade),
            why(grade),
            grade.submitted.map(rfc3339).unwrap_or_default(),
            origin.dated.clone(),
            grade.course.version.clone(),
            grade.digest.clone(),
        ]);
        rows.push(row);
    }
    written(rows)
}

/// For Canvas' Gradebook, Import: `Student`, `ID`, `SIS User ID`, `SIS Login ID`, `Section`, then a column per
/// assignment; the second row contains the possible points.
pub fn canvas(class: &Class) -> Result<String> {
    let lessons = class.lessons();
    let mut head = cells(["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]);
    head.extend(lessons.iter().map(|l| title(l)));
    let mut possible = cells(["Points Possible", "", "", "", ""]);
    possible.extend(lessons.iter().map(|l| of(l).to_string()));
    let mut rows = vec![head, possible];
    for entry in class.entries.iter().filter(|e| e.listed) {
        let (s, name) = (&entry.grade.origin.student, entry.grade.name());
        // If nothing is known about the student.
        let id = if *s == Student::default() {
            &entry.folder
        } else {
            &s.id
        };
        let mut row = cells([name, &s.canvas, id, &s.login, &s.section]);
        row.extend(marks_of(&entry.grade, &lessons));
        rows.push(row);
    }
    written(rows)
}

fn title(lesson: &LessonGrade) -> String {
    format!("Lesson {}: {}", lesson.lesson, lesson.title)
}

/// The mark of each lesson, an empty cell if there is none.
fn marks_of<'a>(grade: &'a Grade, lessons: &'a [&LessonGrade]) -> impl Iterator<Item = String> + 'a {
    lessons.iter().map(|lesson| {
        let own = grade.lessons.iter().find(|l| l.lesson == lesson.lesson);
        let own = own.filter(|_| grade.status == Status::Graded);
        own.map(|l| clean::points(f64::from(won(l)) * kept(grade)))
            .unwrap_or_default()
    })
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
    let late = grade.origin.late_unknown.iter();
    let late = late.map(|why| format!("lateness unknown: {why}"));
    let stopped = grade.lessons.iter().filter_map(|l| {
        let why = l.stopped.as_ref()?;
        Some(format!("lesson {}: {why}", l.lesson))
    });
    let all: Vec<String> = grade.reason.iter().cloned().chain(late).chain(stopped).collect();
    clean::cut(&all.join("; "), 300)
}

/// The feedback beside a mark in Moodle, which would interpret markup: so without any text of the student.
fn feedback(grade: &Grade) -> String {
    if grade.status != Status::Graded {
        return status(grade.status).into();
    }
    let mut parts = vec![format!("{} of {} points", grade.points(), grade.of())];
    if let Some(late) = &grade.late {
        parts.push(format!("{} % deducted for lateness", clean::points(late.percent)));
    }
    for e in grade.exercises().filter(|e| state(e) != "right") {
        let wrong = e.checks.iter().filter(|c| c.word == "wrong");
        let wrong: Vec<String> = wrong.map(|c| c.name.replace('_', " ")).collect();
        let colon = if wrong.is_empty() { "" } else { ": " };
        parts.push(format!("{} {}{colon}{}", e.id, state(e), wrong.join(", ")));
    }
    clean::cut(&parts.join("; "), 1_500)
}
