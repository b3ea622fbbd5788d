//! The instructor's table of the students: our own, or what Moodle, Canvas, Gradescope or GitHub Classroom export.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context, Result, bail, ensure};
use grader::grades::{Grade, Student};

use super::{Class, clean};
use crate::late;

/// A row.
#[derive(Debug, Default)]
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

/// What a column contains, by its name in lower case.
const COLUMNS: [(&str, &[&str]); 9] = [
    ("submission", &["submission"]),
    ("name", &["name", "full name", "student"]),
    ("first", &["first name", "firstname", "given name"]),
    ("last", &["last name", "lastname", "surname"]),
    ("email", &["email", "email address", "e-mail"]),
    (
        "id",
        &[
            "id",
            "id number",
            "student id",
            "student number",
            "sis user id",
            "sid",
            "identifier",
        ],
    ),
    (
        "login",
        &[
            "login",
            "username",
            "sis login id",
            "github_username",
            "github username",
            "github",
        ],
    ),
    ("section", &["section"]),
    ("submitted", &["submitted"]),
];

impl Roster {
    /// Reads the CSV file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, has no column that identifies a student or a time that cannot be parsed,
    /// or lists a submission twice.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &[u8]) -> Result<Self> {
        // Spreadsheets write a byte order mark, and a semicolon where the comma is in numbers.
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let first = text.split(|b| *b == b'\n').next().unwrap_or_default();
        let count = |sign| first.iter().filter(|b| **b == sign).count();
        let delimiter = *b",;\t"
            .iter()
            .rev()
            .max_by_key(|sign| count(**sign))
            .unwrap_or(&b',');
        let mut reader = csv::ReaderBuilder::new();
        let mut reader = reader.trim(csv::Trim::All).delimiter(delimiter).from_reader(text);
        let heads: Vec<String> = reader.headers()?.iter().map(str::to_lowercase).collect();
        // In Canvas' own export `ID` is its number, and `SIS User ID` that of the institution.
        let canvas = heads.iter().any(|h| h == "sis user id");
        let column = |wanted: &str| {
            let names = COLUMNS
                .iter()
                .find(|(name, _)| *name == wanted)
                .map_or(&[][..], |(_, names)| names);
            heads
                .iter()
                .position(|h| names.contains(&&**h) && !(canvas && h == "id"))
        };
        let canvas = heads.iter().position(|h| h == "canvas" || (canvas && h == "id"));
        let columns = COLUMNS.map(|(name, _)| column(name));
        let identifying = columns[..7].iter().any(Option::is_some) || canvas.is_some();
        if !identifying {
            bail!(
                "no column identifies a student: expected one of submission, name, email, id, login and canvas"
            );
        }
        let mut rows: Vec<Row> = Vec::new();
        for row in reader.records() {
            let row = row?;
            let line = row.position().map_or(0, csv::Position::line);
            let cell = |at: Option<usize>| at.and_then(|i| row.get(i)).unwrap_or_default().to_owned();
            let [
                submission,
                mut name,
                first,
                last,
                email,
                id,
                login,
                section,
                submitted,
            ] = columns.map(cell);
            if name.is_empty() {
                name = format!("{first} {last}").trim().to_owned();
            }
            // Canvas' second row contains the points that are possible.
            if name.to_lowercase().starts_with("points possible") {
                continue;
            }
            let submitted = match &*submitted {
                "" => None,
                time => Some(late::instant(time).with_context(|| format!("line {line}"))?),
            };
            let twice = !submission.is_empty() && rows.iter().any(|r| r.submission == submission);
            ensure!(
                !twice,
                "line {line}: the submission {submission:?} is listed twice"
            );
            let canvas = cell(canvas);
            let student = Student {
                name,
                email,
                id,
                login,
                canvas,
                section,
            };
            rows.push(Row {
                submission,
                student,
                submitted,
            });
        }
        ensure!(!rows.is_empty(), "the roster lists no student");
        Ok(Self { rows })
    }

    /// Whether the roster is empty.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The row of a submission: by its name, or by what its platform says about the student. A name must match one row only.
    fn row(&self, grade: &Grade) -> Option<&Row> {
        let said = &grade.origin.student;
        let same = |a: &str, b: &str| !a.is_empty() && a.eq_ignore_ascii_case(b);
        let rules: [fn(&Student) -> &str; 4] = [|s| &s.canvas, |s| &s.login, |s| &s.email, |s| &s.id];
        let by =
            |field: fn(&Student) -> &str| self.rows.iter().find(|r| same(field(&r.student), field(said)));
        let mut rows = self.rows.iter();
        let found = rows.find(|r| r.submission == grade.submission);
        found.or_else(|| rules.into_iter().find_map(by)).or_else(|| {
            let keys = keys(&said.name);
            let mut rows = self.rows.iter();
            let mut named = rows
                .by_ref()
                .filter(|r| !keys.is_disjoint(&self::keys(&r.student.name)));
            named.next().filter(|_| named.next().is_none())
        })
    }

    /// Fills in the student of the grade from the roster. Returns whether the roster contains the student; if it is empty, it
    /// contains all.
    pub fn sign(&self, grade: &mut Grade) -> bool {
        let Some(row) = self.row(grade) else {
            return self.is_empty();
        };
        complete(&mut grade.origin.student, &row.student);
        if let Some(time) = row.submitted {
            (grade.submitted, grade.origin.late) = (Some(time), false);
            grade.origin.dated = "the roster".into();
        }
        true
    }

    /// Lists students without a submission, and submissions that are not in the roster.
    pub fn unmatched(&self, class: &Class) -> Vec<String> {
        if self.is_empty() {
            return Vec::new();
        }
        let rows: Vec<Option<&Row>> = class.entries.iter().map(|e| self.row(&e.grade)).collect();
        let unknown = class.entries.iter().zip(&rows).filter(|(_, row)| row.is_none());
        let unknown = unknown.map(|(e, _)| format!("{} is not in the roster", clean::line(&e.folder)));
        let handed_in = |row: &Row| rows.iter().flatten().any(|r| std::ptr::eq(*r, row));
        let name = |row: &Row| {
            let s = &row.student;
            let names = [&s.name, &s.login, &s.email, &s.id, &row.submission];
            clean::line(
                names
                    .into_iter()
                    .find(|n| !n.is_empty())
                    .map_or("", String::as_str),
            )
        };
        let absent = self.rows.iter().filter(|row| !handed_in(row));
        let absent = absent.map(|row| format!("{} of the roster handed in nothing", name(row)));
        unknown.chain(absent).collect()
    }
}

/// Replaces what a platform says about a student by what the roster says.
fn complete(said: &mut Student, known: &Student) {
    for (said, known) in [
        (&mut said.name, &known.name),
        (&mut said.email, &known.email),
        (&mut said.id, &known.id),
        (&mut said.login, &known.login),
        (&mut said.canvas, &known.canvas),
        (&mut said.section, &known.section),
    ] {
        if !known.is_empty() {
            said.clone_from(known);
        }
    }
}

/// The ways in which platforms write a name: `Anna Example`, `Example, Anna`, `exampleanna`.
fn keys(name: &str) -> BTreeSet<String> {
    let plain = |w: &str| {
        w.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect()
    };
    let words: Vec<String> = name
        .split([' ', ','])
        .map(plain)
        .filter(|w: &String| !w.is_empty())
        .collect();
    let rotated = (0..words.len()).map(|at| [&words[at..], &words[..at]].concat().concat());
    rotated.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::samples;

    fn signed(text: &str, said: Student) -> Option<Grade> {
        let roster = Roster::parse(text.as_bytes()).unwrap();
        let mut grade = samples::graded("a17", 3);
        grade.origin.student = said;
        roster.sign(&mut grade).then_some(grade)
    }

    #[test]
    fn a_roster_of_a_spreadsheet_is_read() {
        let text = "\u{feff}Submission, Name ,email,submitted\r\na17,\"Müller, Anna\",a@x.org,2026-11-20T23:00:00Z\r\nben,Ben,,\r\n";
        for text in [
            text.to_owned(),
            text.replace(',', ";").replace("Müller;", "Müller,"),
        ] {
            let grade = signed(&text, Student::default()).unwrap();
            let student = &grade.origin.student;
            assert_eq!((grade.name(), &*student.email), ("Müller, Anna", "a@x.org"));
            assert_eq!(grade.submitted, late::instant("2026-11-20T23:00:00Z").ok());
            assert_eq!(grade.origin.dated, "the roster");
        }
    }

    #[test]
    fn the_roster_of_the_book_is_read() {
        let page = include_str!("../../../../book/src/instructors-marks.md");
        let (_, csv) = page.split_once("```csv\n").unwrap();
        let roster = Roster::parse(csv.split("```").next().unwrap().as_bytes()).unwrap();
        assert!(!roster.is_empty());
    }

    #[test]
    fn exports_of_platforms_identify_the_student() {
        let said = |name: &str, canvas: &str, login: &str, id: &str| Student {
            name: name.into(),
            canvas: canvas.into(),
            login: login.into(),
            id: id.into(),
            ..Student::default()
        };
        let moodle = "First name,Last name,ID number,Email address\nAnna Maria,van der Berg,7,a@x.org\nBen,Li,8,b@x.org\n";
        let canvas = "Student,ID,SIS User ID,SIS Login ID,Section,Lesson 01 (4711)\n    Points Possible,,,,,12\n\
            \"van der Berg, Anna Maria\",31,7,anna7,A,\n\"Li, Ben\",32,8,ben8,A,\n";
        let github = "\"identifier\",\"github_username\",\"github_id\",\"name\"\n\"7\",\"annax\",\"123\",\"\"\n\"8\",\"benx\",\"124\",\"\"\n";
        let gradescope = "First Name,Last Name,SID,Email,Role\nAnna Maria,van der Berg,7,a@x.org,Student\n";
        for (text, said) in [
            (moodle, said("Anna Maria van der Berg", "", "", "")),
            (canvas, said("vanderberganna", "31", "", "")),
            (canvas, said("vanderbergannamaria", "", "", "")),
            (github, said("", "", "AnnaX", "")),
            (gradescope, said("A. Berg", "", "", "7")),
        ] {
            let grade = signed(text, said).unwrap();
            assert_eq!(grade.origin.student.id, "7", "{text}");
        }
        let grade = signed(canvas, said("", "31", "", "")).unwrap();
        assert_eq!(
            (grade.name(), &*grade.origin.student.login),
            ("van der Berg, Anna Maria", "anna7")
        );
        // Two students of one name are distinguished by a number, or not at all.
        let twice = "name,id\nBen Li,1\n\"Li, Ben\",2\n";
        assert!(signed(twice, said("Ben Li", "", "", "")).is_none());
        assert_eq!(
            signed(twice, said("Ben Li", "", "", "2"))
                .unwrap()
                .origin
                .student
                .id,
            "2"
        );
    }

    #[test]
    fn errors_of_a_roster_name_the_line() {
        for (text, expected) in [
            ("", "no column identifies"),
            ("grade\nx\n", "no column identifies"),
            (
                "submission\na\na\n",
                "line 3: the submission \"a\" is listed twice",
            ),
            ("submission,submitted\na,yesterday\n", "line 2"),
            ("submission\n", "lists no student"),
            ("submission,name\na\n", "found record with 1 fields"),
        ] {
            let error = format!("{:#}", Roster::parse(text.as_bytes()).err().unwrap());
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        assert!(Roster::parse(b"submission\n\xff\xfe\n").is_err());
    }
}
