//! The files that are taken from a submission: the Rust sources of the lessons, and nothing else.

use std::collections::BTreeMap;

use super::{Clock, archive::TooMuch, caught::caught, named::Submission, reader::Reader};
use crate::submission::{digest, sha256};

/// The files of a lesson by their path below `src`.
pub type Files = BTreeMap<String, String>;

/// What was taken from a submission.
#[derive(Debug, Default)]
pub struct Taken {
    /// The files of each lesson (`01`).
    pub lessons: BTreeMap<String, Files>,
    /// What was not taken, and why.
    pub left_out: Vec<String>,
    /// Times in seconds since 1970, as far as they are known: from the platform, from `submission.toml`, of the newest
    /// source in an archive, of the newest file.
    pub times: [Option<u64>; 4],
}

/// Why nothing was taken.
#[derive(Debug)]
pub enum Rejected {
    /// It is damaged, or contains nothing to grade.
    Unreadable(String),
    /// It breaks a rule.
    Refused(String),
}

impl Submission {
    /// Takes the files that may be taken. `lesson` is the lesson of files that do not name theirs.
    ///
    /// # Errors
    /// Returns why there is nothing to grade.
    pub fn take(&self, lesson: Option<&str>) -> Result<Taken, Rejected> {
        let mut reader = Reader::default();
        for path in &self.paths {
            if let Err(error) = caught(|| reader.path(path, self.paths.len() > 1)) {
                return Err(match error.is::<TooMuch>() {
                    true => Rejected::Refused(error.to_string()),
                    false => Rejected::Unreadable(unreadable(&format!("{error:#}"))),
                });
            }
        }
        let taken = reader.bundles.choose(lesson);
        let mut taken = taken.map_err(|why| Rejected::Unreadable(unreadable(&why)))?;
        (taken.times[0], taken.times[3]) = (self.time, reader.changed);
        Ok(taken)
    }
}

fn unreadable(why: &str) -> String {
    format!("could not be read, because {why}")
}

impl Taken {
    /// SHA-256 of all files that were taken, as `cargo course pack` computes it.
    pub fn digest(&self) -> String {
        let mut files = Vec::new();
        for (lesson, texts) in &self.lessons {
            let sum = |(path, text): (&String, &String)| {
                (
                    format!("exercises/lesson{lesson}/src/{path}"),
                    sha256(text.as_bytes()),
                )
            };
            files.extend(texts.iter().map(sum));
        }
        digest(files.iter().map(|(path, sum)| (&**path, &**sum)))
    }

    /// When it was handed in, and the source of that time.
    pub fn dated(&self, clock: Clock) -> Option<(u64, &'static str)> {
        let [platform, packed, archive, file] = self.times;
        let all = [
            (platform, "the platform"),
            (packed, "the student's clock when it was packed"),
            (archive, "the newest file in the archive"),
            (file, "the date of the file"),
        ];
        let may = match clock {
            Clock::Platform => &all[..1],
            Clock::Packed => &all[..3],
            Clock::File => &all[3..],
        };
        may.iter().find_map(|(time, whose)| Some(((*time)?, *whose)))
    }
}

#[cfg(test)]
#[path = "tests/sources.rs"]
mod tests;
