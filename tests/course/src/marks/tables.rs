//! Tables of a class: `marks.csv`, which Moodle imports as well, and `canvas.csv`.

use anyhow::{Context, Result};
use grader::grades::{Grade, LessonGrade, Student};

use super::{Class, clean, kept, late, mark, state, status, why};
use crate::late::rfc3339;

/// One row per submission: the student, points of each exercise, the mark of each lesson, their sums, penalty, reasons.
pub fn marks(class: &Class) -> Result<String> {
    let (lessons, exercises) = (class.lessons(), class.exercises());
    let mut head = cells(["submission", "name", "id", "login", "email", "status"]);
    head.extend(exercises.iter().map(|e| e.id.clone()));
    head.extend(lessons.iter().map(|l| title(l)));
    head.extend(cells(["points", "late_percent", "mark", "feedback", "reason"]));
    head.extend(cells(["submitted", "submitted_by"]));
    let row = |grade: &Grade| {
        let (s, mark) = (&grade.origin.student, mark(grade));
        let mut row = cells([
            &grade.submission,
            &s.name,
            &s.id,
            &s.login,
            &s.email,
            status(grade),
        ]);
        row.extend(exercises.iter().map(|e| {
            let own = grade.exercises().find(|own| own.id == e.id);
            own.map(|own| own.points.to_string()).unwrap_or_default()
        }));
        row.extend(marks_of(grade, &lessons));
        row.extend([
            mark.map(|_| grade.points().to_string()).unwrap_or_default(),
            late(grade),
            mark.map(clean::points).unwrap_or_default(),
            feedback(grade),
            why(grade),
            grade.submitted.map(rfc3339).unwrap_or_default(),
            grade.origin.dated.clone(),
        ]);
        row
    };
    csv(class, vec![head], row)
}

/// For Canvas' Gradebook, Import: `Student`, `ID`, `SIS User ID`, `SIS Login ID`, `Section`, then a column per
/// assignment; the second row contains the possible points.
pub fn canvas(class: &Class) -> Result<String> {
    let lessons = class.lessons();
    let mut head = cells(["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]);
    head.extend(lessons.iter().map(|l| title(l)));
    let mut possible = cells(["Points Possible", "", "", "", ""]);
    possible.extend(lessons.iter().map(|l| sum(l).1.to_string()));
    let row = |grade: &Grade| {
        let s = &grade.origin.student;
        let is_unknown = *s == Student::default();
        let id = if is_unknown { &grade.submission } else { &s.id };
        let mut row = cells([grade.name(), &s.canvas, id, &s.login, &s.section]);
        row.extend(marks_of(grade, &lessons));
        row
    };
    csv(class, vec![head, possible], row)
}

/// The rows `head`, and one row for each listed submission.
fn csv(class: &Class, head: Vec<Vec<String>>, row: impl Fn(&Grade) -> Vec<String>) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let listed = class
        .grades
        .iter()
        .filter(|g| !class.unlisted.contains(&g.submission));
    for row in head.into_iter().chain(listed.map(row)) {
        writer.write_record(row.iter().map(|cell| clean::cell(cell)))?;
    }
    let bytes = writer.into_inner().context("the table could not be written")?;
    Ok(String::from_utf8(bytes)?)
}

fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).into()
}

fn title(lesson: &LessonGrade) -> String {
    format!("Lesson {}: {}", lesson.lesson, lesson.title)
}

/// Points that were won, and points that the lesson has.
fn sum(lesson: &LessonGrade) -> (u32, u32) {
    let points = lesson.exercises.iter().map(|e| (e.points, e.of));
    points.fold((0, 0), |(won, of), e| (won + e.0, of + e.1))
}

/// The mark of each lesson, an empty cell if there is none.
fn marks_of<'a>(grade: &'a Grade, lessons: &'a [&LessonGrade]) -> impl Iterator<Item = String> + 'a {
    lessons.iter().map(|lesson| {
        let own = grade.lessons.iter().find(|l| l.lesson == lesson.lesson);
        let own = own.filter(|_| mark(grade).is_some());
        own.map(|l| clean::points(f64::from(sum(l).0) * kept(grade)))
            .unwrap_or_default()
    })
}

/// The feedback beside a mark on a platform, which may interpret markup: so without any text of the student.
pub fn feedback(grade: &Grade) -> String {
    if mark(grade).is_none() {
        return status(grade).into();
    }
    let mut parts = vec![format!("{} of {} points", grade.points(), grade.of())];
    if grade.late.is_some() {
        parts.push(format!("{} % deducted for lateness", late(grade)));
    }
    for e in grade.exercises().filter(|e| state(e) != "right") {
        let wrong = e.checks.iter().filter(|c| c.word == "wrong");
        let wrong: Vec<String> = wrong.map(|c| c.name.replace('_', " ")).collect();
        let colon = if wrong.is_empty() { "" } else { ": " };
        parts.push(format!("{} {}{colon}{}", e.id, state(e), wrong.join(", ")));
    }
    clean::cut(&parts.join("; "), 1_500)
}
