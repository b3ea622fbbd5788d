//! The instructor's table of the students: a CSV file of their own, or what a platform exports.

use std::{collections::HashMap, path::Path};

use anyhow::{Context, Result, ensure};
use grader::grades::Grade;

use super::Class;
use crate::late;

/// Students in the order of the table.
#[derive(Default)]
pub struct Roster {
    /// What each row says, in the fields of a grade.
    rows: Vec<Grade>,
}

impl Roster {
    /// Reads the CSV file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or a row identifies no student or has a time that cannot be parsed.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    pub(super) fn parse(text: &[u8]) -> Result<Self> {
        // Spreadsheets write a semicolon in countries whose numbers have a comma.
        let head = text.split(|b| *b == b'\n').next().unwrap_or_default();
        let count = |sign: &&u8| head.iter().filter(|b| b == sign).count();
        let delimiter = b"\t;,".iter().max_by_key(count).unwrap_or(&b',');
        let mut reader = csv::ReaderBuilder::new();
        let reader = reader.trim(csv::Trim::All).delimiter(*delimiter);
        let mut reader = reader.from_reader(text);
        let heads = reader.headers()?.iter().map(str::to_lowercase).collect();
        reader.set_headers(heads);
        let mut rows = Vec::new();
        for (i, cells) in reader.deserialize::<HashMap<String, String>>().enumerate() {
            let row = read(&cells?).with_context(|| format!("row {}", i + 2))?;
            // Canvas' second row contains the points that are possible.
            if !row.origin.student.name.starts_with("Points Possible") {
                rows.push(row);
            }
        }
        Ok(Self { rows })
    }

    /// The index of the row of a submission: by its name, or by what its platform says about the student, if only one row says it.
    fn row(&self, grade: &Grade) -> Option<usize> {
        keys(grade).into_iter().enumerate().find_map(|(i, said)| {
            let is_same = |row: &usize| {
                let known = keys(&self.rows[*row])[i];
                !known.is_empty() && known.to_lowercase() == said.to_lowercase()
            };
            let mut rows = (0..self.rows.len()).filter(is_same);
            rows.next().filter(|_| rows.next().is_none())
        })
    }

    /// Fills in the student and the time of submission from the roster.
    pub fn sign(&self, grade: &mut Grade) {
        let Some(row) = self.row(grade) else { return };
        let row = &self.rows[row];
        if row.submitted.is_some() {
            (grade.submitted, grade.origin.late) = (row.submitted, false);
            grade.origin.dated = "the roster".into();
        }
        complete(grade, row);
    }

    /// Fills in all students. The exports then list one submission for each row. Returns which submissions they do not
    /// list, and which students have none.
    pub fn complete_all(&self, class: &mut Class) -> Vec<String> {
        let rows: Vec<Option<usize>> = class.grades.iter().map(|g| self.row(g)).collect();
        let mut reports = Vec::new();
        for (grade, row) in class.grades.iter_mut().zip(&rows) {
            let name = &grade.submission;
            let problem = match row {
                None => Some("is not in the roster"),
                Some(_) if rows.iter().filter(|other| *other == row).count() > 1 => Some(
                    "has the same row of the roster as another submission, so the exports contain neither: the column \
                     `submission` tells them apart",
                ),
                Some(_) => None,
            };
            if let Some(problem) = problem {
                reports.push(format!("{name} {problem}"));
                class.unlisted.push(name.clone());
            }
            if let Some(row) = row {
                complete(grade, &self.rows[*row]);
            }
        }
        let absent = (0..self.rows.len()).filter(|row| !rows.contains(&Some(*row)));
        reports.extend(absent.map(|row| {
            let name = keys(&self.rows[row]).into_iter().rfind(|name| !name.is_empty());
            format!("{} of the roster handed in nothing", name.unwrap_or_default())
        }));
        reports
    }
}

/// Reads the cells of a row by the columns' names in lower case: ours, and those of Moodle, Canvas, Gradescope and GitHub
/// Classroom.
fn read(cells: &HashMap<String, String>) -> Result<Grade> {
    let cell = |names: &[&str]| {
        let mut known = names.iter().filter_map(|name| cells.get(*name));
        known.find(|cell| !cell.is_empty()).cloned().unwrap_or_default()
    };
    let mut row = Grade {
        submission: cell(&["submission"]),
        ..Grade::default()
    };
    let student = &mut row.origin.student;
    student.name = cell(&["name", "full name", "student"]);
    if student.name.is_empty() {
        let full = format!("{} {}", cell(&["first name"]), cell(&["last name"]));
        student.name = full.trim().into();
    }
    student.email = cell(&["email", "email address"]);
    student.login = cell(&["login", "username", "sis login id", "github_username"]);
    student.section = cell(&["section"]);
    // Where Canvas' export has the column `SIS User ID`, `ID` is Canvas' own number.
    let sis = cell(&["sis user id"]);
    (student.id, student.canvas) = match sis.is_empty() {
        true => (cell(&["id", "id number", "sid", "identifier"]), cell(&["canvas"])),
        false => (sis, cell(&["id"])),
    };
    let time = cell(&["submitted"]);
    if !time.is_empty() {
        row.submitted = Some(late::instant(&time)?);
    }
    ensure!(
        keys(&row).concat() != "",
        "no column identifies a student: expected submission, name, email, id, login or canvas"
    );
    Ok(row)
}

/// Fills in the student of a grade from its row.
fn complete(grade: &mut Grade, row: &Grade) {
    let said = std::mem::replace(&mut grade.origin.student, row.origin.student.clone());
    if row.origin.student.name.is_empty() {
        grade.origin.student.name = said.name;
    }
}

/// What identifies a student, the surest first.
fn keys(grade: &Grade) -> [&str; 6] {
    let s = &grade.origin.student;
    [&grade.submission, &s.canvas, &s.login, &s.email, &s.id, &s.name]
}
