//! The text that is signed: a few lines that a person can read.

use anyhow::{Context, Result, ensure};

/// Content of a certificate.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Name of the student.
    pub name: String,
    /// In the order of the command line.
    pub lessons: Vec<Won>,
    /// Date in UTC, such as `2026-11-21`.
    pub date: String,
    /// Version of the course.
    pub version: String,
    /// SHA-256 of the course's files.
    pub course: String,
    /// SHA-256 of the submission's files.
    pub submission: String,
}

/// A lesson of which the student won all points.
#[derive(Clone, Debug, PartialEq)]
pub struct Won {
    /// `01`.
    pub lesson: String,
    pub title: String,
    pub points: u32,
}

const HEAD: &str = "Canopy certificate, form 1";

impl Statement {
    /// Returns the text that is signed.
    ///
    /// # Errors
    /// Returns an error if a field is empty or not a single line, because it could be mistaken for another field.
    pub fn text(&self) -> Result<String> {
        let mut out = format!("{HEAD}\n");
        let mut line = |name: &str, value: &str| {
            let fine = |c: char| {
                !c.is_control()
                    && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            };
            ensure!(!value.trim().is_empty(), "the {name} of a certificate is empty");
            ensure!(
                value.chars().all(fine),
                "the {name} of a certificate contains a character that cannot be printed"
            );
            ensure!(
                value.chars().count() <= 200,
                "the {name} of a certificate is longer than 200 characters"
            );
            out.push_str(&format!("{name}: {value}\n"));
            Ok(())
        };
        line("name", &self.name)?;
        for l in &self.lessons {
            line(
                "lesson",
                &format!("{} {} ({} points)", l.lesson, l.title, l.points),
            )?;
        }
        line("date", &self.date)?;
        line("course version", &self.version)?;
        line("course digest", &self.course)?;
        line("submission digest", &self.submission)?;
        ensure!(
            !self.lessons.is_empty(),
            "a certificate needs at least one lesson"
        );
        Ok(out)
    }

    /// Parses a text that [`Statement::text`] wrote.
    ///
    /// # Errors
    /// Returns an error if the text differs from what [`Statement::text`] writes.
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines().peekable();
        ensure!(
            lines.next() == Some(HEAD),
            "this version of the course does not know this form of certificate"
        );
        let mut field = |name: &str| {
            let line = lines
                .peek()
                .with_context(|| format!("the line `{name}` is missing"))?;
            let value = line.strip_prefix(&format!("{name}: ")).map(str::to_owned);
            if value.is_some() {
                lines.next();
            }
            anyhow::Ok(value)
        };
        let mut must = |name: &str| field(name)?.with_context(|| format!("the line `{name}` is missing"));
        let name = must("name")?;
        let mut lessons = vec![Won::parse(&must("lesson")?)?];
        let date = loop {
            match must("lesson") {
                Ok(line) => lessons.push(Won::parse(&line)?),
                Err(_) => break must("date")?,
            }
        };
        let statement = Self {
            name,
            lessons,
            date,
            version: must("course version")?,
            course: must("course digest")?,
            submission: must("submission digest")?,
        };
        ensure!(
            statement.text()? == text,
            "this version of the course does not know this form of certificate"
        );
        Ok(statement)
    }

    /// Sum of the points of all lessons.
    pub fn points(&self) -> u32 {
        self.lessons.iter().map(|l| l.points).sum()
    }
}

impl Won {
    fn parse(line: &str) -> Result<Self> {
        let asked = || format!("the line of a lesson, {line:?}, has another form");
        let (lesson, rest) = line.split_once(' ').with_context(asked)?;
        let (title, points) = rest.rsplit_once(" (").with_context(asked)?;
        let points = points.strip_suffix(" points)").with_context(asked)?;
        Ok(Self {
            lesson: lesson.into(),
            title: title.into(),
            points: points.parse().with_context(asked)?,
        })
    }
}
