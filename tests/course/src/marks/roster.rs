//! The instructor's table of the students: a CSV file of their own, or what a platform exports.

use std::{collections::HashMap, path::Path};

use anyhow::{Context, Result, ensure};
use grader::grades::{Grade, Student};

use super::Class;
use crate::late;

/// A row.
struct Row {
    /// The submission, if the table has a column for it.
    submission: String,
    student: Student,
    /// Time of submission on the platform, in seconds since 1970 UTC.
    submitted: Option<u64>,
}

/// Students in the order of the table.
#[derive(Default)]
pub struct Roster {
    rows: Vec<Row>,
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
            let row = Row::read(&cells?).with_context(|| format!("row {}", i + 2))?;
            // Canvas' second row contains the points that are possible.
            if !row.student.name.starts_with("Points Possible") {
                rows.push(row);
            }
        }
        Ok(Self { rows })
    }

    /// The row of a submission: by its name, or by what its platform says about the student, if only one row says it.
    fn row(&self, grade: &Grade) -> Option<&Row> {
        let said = keys(&grade.submission, &grade.origin.student);
        (0..said.len()).find_map(|i| {
            let is_same = |row: &&Row| {
                let known = keys(&row.submission, &row.student)[i];
                !known.is_empty() && known.to_lowercase() == said[i].to_lowercase()
            };
            let mut rows = self.rows.iter().filter(is_same);
            rows.next().filter(|_| rows.next().is_none())
        })
    }

    /// Fills in the student and the time of submission from the roster.
    pub fn sign(&self, grade: &mut Grade) {
        if let Some(time) = self.row(grade).and_then(|row| row.submitted) {
            (grade.submitted, grade.origin.late) = (Some(time), false);
            grade.origin.dated = "the roster".into();
        }
        self.complete(grade);
    }

    fn complete(&self, grade: &mut Grade) {
        if let Some(row) = self.row(grade) {
            let said = std::mem::replace(&mut grade.origin.student, row.student.clone());
            if row.student.name.is_empty() {
                grade.origin.student.name = said.name;
            }
        }
    }

    /// Fills in all students. The exports then list one submission for each row. Returns which submissions they do not
    /// list, and which students have none.
    pub fn complete_all(&self, class: &mut Class) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let mut reports = Vec::new();
        let rows: Vec<Option<&Row>> = class.entries.iter().map(|e| self.row(&e.grade)).collect();
        for (entry, row) in class.entries.iter_mut().zip(&rows) {
            let is_same = |other: &&Row| row.is_some_and(|row| std::ptr::eq(*other, row));
            let count = rows.iter().flatten().copied().filter(is_same).count();
            entry.listed = count == 1;
            match count {
                0 => reports.push(format!("{} is not in the roster", entry.folder)),
                1 => {}
                _ => reports.push(format!(
                    "{} has the same row of the roster as another submission, so the exports contain neither: the \
                     column `submission` tells them apart",
                    entry.folder
                )),
            }
            self.complete(&mut entry.grade);
        }
        let handed_in = |row: &Row| rows.iter().flatten().any(|r| std::ptr::eq(*r, row));
        let absent = self.rows.iter().filter(|row| !handed_in(row)).map(|row| {
            let names = keys(&row.submission, &row.student);
            let name = names.into_iter().rfind(|name| !name.is_empty());
            format!("{} of the roster handed in nothing", name.unwrap_or_default())
        });
        reports.extend(absent);
        reports
    }
}

impl Row {
    /// Reads the cells of a row by the columns' names in lower case: ours, and those of Moodle, Canvas, Gradescope and
    /// GitHub Classroom.
    fn read(cells: &HashMap<String, String>) -> Result<Self> {
        let cell = |names: &[&str]| {
            let mut known = names.iter().filter_map(|name| cells.get(*name));
            known.find(|cell| !cell.is_empty()).cloned().unwrap_or_default()
        };
        let [first, last] = ["first name", "last name"].map(|name| cell(&[name]));
        let (full, id) = (format!("{first} {last}"), cell(&["sis user id"]));
        // Where Canvas' export has this column, `ID` is Canvas' own number.
        let (id, canvas) = match id.is_empty() {
            true => (cell(&["id", "id number", "sid", "identifier"]), cell(&["canvas"])),
            false => (id, cell(&["id"])),
        };
        let name = cell(&["name", "full name", "student"]);
        let student = Student {
            name: if name.is_empty() { full.trim().into() } else { name },
            email: cell(&["email", "email address"]),
            id,
            login: cell(&["login", "username", "sis login id", "github_username"]),
            canvas,
            section: cell(&["section"]),
        };
        let (submission, submitted) = (cell(&["submission"]), cell(&["submitted"]));
        let is_known = keys(&submission, &student).iter().any(|key| !key.is_empty());
        ensure!(
            is_known,
            "no column identifies a student: expected submission, name, email, id, login or canvas"
        );
        let submitted = match &*submitted {
            "" => None,
            time => Some(late::instant(time)?),
        };
        Ok(Self {
            submission,
            student,
            submitted,
        })
    }
}

/// What identifies a student, the surest first.
fn keys<'a>(submission: &'a str, s: &'a Student) -> [&'a str; 6] {
    [submission, &s.canvas, &s.login, &s.email, &s.id, &s.name]
}
