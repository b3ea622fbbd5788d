//! The instructor's table of who handed in what, because the name of a submission is just the name of a file.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, bail, ensure};

use super::{Class, Entry, clean};
use crate::late;

/// A student.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Student {
    pub name: String,
    pub email: String,
    /// Number at the institution: Moodle's ID number, Canvas' SIS User ID.
    pub id: String,
    /// Moodle's username, Canvas' SIS Login ID.
    pub login: String,
    /// Canvas' own number.
    pub canvas: String,
    pub section: String,
    /// Time of submission on the platform, in seconds since 1970 UTC.
    pub submitted: Option<u64>,
}

/// Students by submission.
#[derive(Default)]
pub struct Roster {
    students: BTreeMap<String, Student>,
}

const COLUMNS: [&str; 8] = [
    "submission",
    "name",
    "email",
    "id",
    "login",
    "canvas",
    "section",
    "submitted",
];

impl Roster {
    /// Reads the CSV file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, lacks the column `submission`, has an unknown column or a time that cannot
    /// be parsed, or lists a submission twice.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &[u8]) -> Result<Self> {
        // Spreadsheets write a byte order mark.
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text);
        let heads: Vec<String> = reader.headers()?.iter().map(str::to_lowercase).collect();
        if let Some(odd) = heads.iter().find(|h| !COLUMNS.contains(&h.as_str())) {
            bail!(
                "the column {odd:?} is unknown; the known columns are {}",
                COLUMNS.join(", ")
            );
        }
        ensure!(
            heads.iter().any(|h| h == "submission"),
            "the column `submission` is missing"
        );
        let mut students = BTreeMap::new();
        for row in reader.records() {
            let row = row?;
            let line = row.position().map_or(0, csv::Position::line);
            let field = |name: &str| {
                let at = heads.iter().position(|h| h == name);
                at.and_then(|i| row.get(i)).unwrap_or_default().to_owned()
            };
            let time = field("submitted");
            let submitted = match &*time {
                "" => None,
                time => Some(late::instant(time).with_context(|| format!("line {line}"))?),
            };
            let student = Student {
                name: field("name"),
                email: field("email"),
                id: field("id"),
                login: field("login"),
                canvas: field("canvas"),
                section: field("section"),
                submitted,
            };
            let submission = field("submission");
            let known = students.insert(submission.clone(), student);
            ensure!(
                known.is_none(),
                "line {line}: the submission {submission:?} is listed twice"
            );
        }
        ensure!(!students.is_empty(), "the roster lists no student");
        Ok(Self { students })
    }

    /// Whether the roster is empty.
    pub fn is_empty(&self) -> bool {
        self.students.is_empty()
    }

    /// The student of a submission.
    pub fn get(&self, entry: &Entry) -> Option<&Student> {
        let by_name = self.students.get(&entry.grade.submission);
        by_name.or_else(|| self.students.get(&entry.folder))
    }

    /// Submissions with their students; without a roster, students are named after their submissions. Submissions that are
    /// not in the roster are skipped, because a platform rejects or misassigns rows of unknown students.
    pub fn rows<'a>(&self, class: &'a Class) -> Vec<(&'a Entry, Student)> {
        let nameless = |entry: &Entry| Student {
            name: clean::cell(&entry.grade.submission),
            id: clean::cell(&entry.grade.submission),
            ..Student::default()
        };
        let rows = class.entries.iter().filter_map(|entry| match self.get(entry) {
            Some(student) => Some((entry, student.clone())),
            None => self.is_empty().then(|| (entry, nameless(entry))),
        });
        rows.collect()
    }

    /// Lists students without a submission, and submissions that are not in the roster.
    pub fn unmatched(&self, class: &Class) -> Vec<String> {
        if self.is_empty() {
            return Vec::new();
        }
        let unknown = class.entries.iter().filter(|e| self.get(e).is_none());
        let unknown = unknown.map(|e| format!("{} is not in the roster", clean::line(&e.folder)));
        let handed_in = |name: &String| {
            class
                .entries
                .iter()
                .any(|e| e.grade.submission == *name || e.folder == *name)
        };
        let absent = self.students.keys().filter(|name| !handed_in(name));
        let absent = absent.map(|name| format!("{} of the roster handed in nothing", clean::line(name)));
        unknown.chain(absent).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roster_of_a_spreadsheet_is_read() {
        let text = b"\xef\xbb\xbfSubmission, Name ,email,submitted\r\nanna,\"M\xc3\xbcller, Anna\",a@x.org,2026-11-20T23:00:00Z\r\nben,Ben,,\r\n";
        let roster = Roster::parse(text).unwrap();
        let anna = &roster.students["anna"];
        assert_eq!((&*anna.name, &*anna.email), ("Müller, Anna", "a@x.org"));
        assert_eq!(anna.submitted, late::instant("2026-11-20T23:00:00Z").ok());
        assert_eq!(roster.students["ben"].submitted, None);
    }

    #[test]
    fn errors_of_a_roster_name_the_line() {
        for (text, expected) in [
            ("", "submission"),
            ("name\nx\n", "column `submission` is missing"),
            ("submission,grade\na,1\n", "\"grade\" is unknown"),
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
