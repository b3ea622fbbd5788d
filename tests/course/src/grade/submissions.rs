//! Finds the submissions of a class, and their owners in the names that Moodle and Canvas give to the files.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use grader::grades::{Grade, Origin, Student};

use super::sources::is_layout;
use crate::marks;

/// A submission to grade.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Submission {
    /// Name of its folder in the folder of grades.
    pub name: String,
    /// Its archive or folder.
    pub path: PathBuf,
    pub student: Student,
    /// Whether the platform says that it is late.
    pub late: bool,
}

impl Submission {
    fn new(path: PathBuf) -> Self {
        let name = name_of(&path);
        let (name, student, late) = moodle(&name).or_else(|| canvas(&name)).unwrap_or_else(|| {
            let name = if path.is_dir() { &name } else { stem(&name) };
            (name.to_owned(), Student::default(), false)
        });
        Self {
            name,
            path,
            student,
            late,
        }
    }

    /// Sets the owner and the time of submission in the grade. `dated` is the time, and its source.
    pub fn sign(&self, grade: &mut Grade, dated: Option<(u64, &str)>) {
        grade.submitted = dated.map(|(time, _)| time);
        grade.origin = Origin {
            student: self.student.clone(),
            dated: dated.map_or("", |(_, whose)| whose).to_owned(),
            late: self.late,
            late_unknown: None,
        };
    }
}

/// All submissions that the arguments name: archives, folders with `exercises`, and folders of these. `skipped` gets a line for
/// each entry of a folder that is not a submission. `out` is not one, wherever it is.
///
/// # Errors
/// Returns an error if a path does not exist or cannot be read.
pub fn submissions(given: &[PathBuf], out: &Path, skipped: &mut BTreeSet<String>) -> Result<Vec<Submission>> {
    let mut all = Vec::new();
    for path in given {
        let path = fs::canonicalize(path).with_context(|| format!("{} does not exist", path.display()))?;
        if path.is_file() || is_layout(&path) {
            all.push(Submission::new(path));
            continue;
        }
        let entries = fs::read_dir(&path).with_context(|| path.display().to_string())?;
        let mut entries: Vec<PathBuf> = entries.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
        entries.sort();
        for path in entries {
            match no_submission(&path, out) {
                None => all.push(Submission::new(path)),
                Some(why) => {
                    skipped.insert(format!("{}, because {why}", path.display()));
                }
            }
        }
    }
    ensure!(!all.is_empty(), "the given paths contain no submission");
    distinguish(&mut all);
    Ok(all)
}

/// Why an entry of a class is not a submission.
fn no_submission(path: &Path, out: &Path) -> Option<&'static str> {
    let name = name_of(path);
    let lower = name.to_lowercase();
    let sheet = [".csv", ".yml", ".yaml"].iter().any(|e| lower.ends_with(e));
    match () {
        () if name.starts_with('.') || name == "__MACOSX" => {
            Some("its name is that of a hidden file; rename it to grade it")
        }
        () if sheet && path.is_file() => Some("a table or metadata is not a submission"),
        () if name.contains("_assignsubmission_onlinetext") => Some("a text is not a submission"),
        () if out.starts_with(path) && !is_layout(path) => Some("the grades are written there"),
        () if path.join(".seed").is_file() && !is_layout(path) => Some("it contains grades"),
        () => None,
    }
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The name without the ending of an archive: `anna` of `anna.tar.GZ`.
fn stem(name: &str) -> &str {
    let lower = name.to_lowercase();
    let endings = [".tar.gz", ".tgz", ".tar", ".gz"];
    let ending = endings
        .iter()
        .find(|e| lower.ends_with(**e))
        .map_or(0, |e| e.len());
    // An ending is ASCII, so it has the same length in both.
    name.get(..name.len() - ending).unwrap_or(name)
}

/// Moodle's `Anna Example_12345_assignsubmission_file_`, followed by the file's name if it is not in a folder
/// (`mod/assign/classes/downloader.php`). The number is that of the participant in the assignment.
fn moodle(name: &str) -> Option<(String, Student, bool)> {
    let (person, _) = name.split_once("_assignsubmission_file_")?;
    let (full, number) = person.rsplit_once('_')?;
    let student = Student {
        name: full.to_owned(),
        ..Student::default()
    };
    let is_number = number.parse::<u64>().is_ok() && !full.is_empty();
    is_number.then(|| (person.to_owned(), student, false))
}

/// Canvas' `exampleanna_LATE_3101_778_submission.tar.gz` (`lib/content_zipper.rb`): the name for sorting without any sign, `LATE`,
/// the number of the user, that of the file, the student's name of it.
fn canvas(name: &str) -> Option<(String, Student, bool)> {
    let mut parts = name.splitn(6, '_').peekable();
    let person = parts.next().filter(|p| !p.is_empty() && p.to_lowercase() == *p)?;
    let late = parts.next_if_eq(&"LATE").is_some();
    let user = parts.next()?;
    parts.next()?.parse::<u64>().ok()?;
    parts.next().filter(|rest| !rest.is_empty())?;
    // Anonymous grading has `anon_` and five letters and digits in place of name and number.
    let student = match person == "anon" && user.bytes().all(|b| b.is_ascii_alphanumeric()) {
        true => Student::default(),
        false => Student {
            name: person.to_owned(),
            canvas: user.parse::<u64>().ok()?.to_string(),
            ..Student::default()
        },
    };
    Some((format!("{person}_{user}"), student, late))
}

/// Gives each submission a unique name, which can be the name of a folder, also where upper and lower case are the same.
fn distinguish(all: &mut [Submission]) {
    let mut used = BTreeSet::new();
    for one in all {
        let name = folder_name(&one.name);
        let numbered = (2..).map(|n| format!("{name}~{n}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let free = names.find(|n| !used.contains(&n.to_lowercase()));
        one.name = free.unwrap_or(name);
        used.insert(one.name.to_lowercase());
    }
}

/// A name of plain characters that differs from the names of our own files.
fn folder_name(raw: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || " -_.,()@'+=~&#".contains(c);
    let mut name: String = raw.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    while name.len() > 200 {
        name.pop();
    }
    let name = name.trim().trim_end_matches('.');
    // Names that begin with a dot are the grader's own, too.
    let own = name.is_empty() || name.starts_with('.') || marks::OWN.contains(&&*name.to_lowercase());
    if own {
        format!("_{}", name.trim_start_matches('.'))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names, names of students and skipped entries of a class with these entries; those that end in `/` are folders.
    fn found(entries: &[&str]) -> (Vec<(String, String)>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let class = dir.path().canonicalize().unwrap();
        for entry in entries {
            let path = class.join(entry);
            match entry.ends_with('/') {
                true => fs::create_dir_all(path).unwrap(),
                false => {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, "").unwrap();
                }
            }
        }
        let mut skipped = BTreeSet::new();
        let all = submissions(std::slice::from_ref(&class), &class.join("out"), &mut skipped).unwrap();
        let all = all.into_iter().map(|s| (s.name, s.student.name));
        let inside = format!("{}/", class.display());
        (
            all.collect(),
            skipped.iter().map(|s| s.replace(&inside, "")).collect(),
        )
    }

    #[test]
    fn each_archive_and_each_folder_of_a_class_is_a_submission() {
        let (all, skipped) = found(&[
            "Anna Example_11_assignsubmission_file_/submission.tar.gz",
            "Ben_12_assignsubmission_file_submission (1).tar.gz",
            "Ben_12_assignsubmission_onlinetext_/x.html",
            "exampleclara_LATE_3101_778_submission.tar.gz",
            "dana.TGZ",
            "dana/exercises/lesson01/src/lib.rs",
            "notes.txt",
            "class.csv",
            ".DS_Store",
            "out/anna/grade.json",
            "earlier/.seed",
        ]);
        let pair = |name: &str, student: &str| (name.to_owned(), student.to_owned());
        assert_eq!(
            all,
            [
                pair("Anna Example_11", "Anna Example"),
                pair("Ben_12", "Ben"),
                pair("dana", ""),
                pair("dana~2", ""),
                pair("exampleclara_3101", "exampleclara"),
                pair("notes.txt", ""),
            ]
        );
        let names: Vec<&str> = skipped.iter().map(|s| s.split(',').next().unwrap()).collect();
        let onlinetext = "Ben_12_assignsubmission_onlinetext_";
        assert_eq!(names, [".DS_Store", onlinetext, "class.csv", "earlier", "out"]);
    }

    #[test]
    fn a_folder_with_exercises_is_one_submission_even_if_it_looks_like_grades() {
        let (all, _) = found(&["x/.seed", "x/exercises/grade.json", "x/out/y"]);
        assert_eq!(all, [("x".to_owned(), String::new())]);
    }

    #[test]
    fn canvas_names_the_user_unless_it_is_anonymous() {
        let (name, student, late) = canvas("exampleanna_LATE_3101_778_my_work.tar.gz").unwrap();
        assert_eq!(
            (&*name, &*student.canvas, late),
            ("exampleanna_3101", "3101", true)
        );
        let (name, student, late) = canvas("anon_x1y2z_778_work.tar.gz").unwrap();
        assert_eq!((&*name, student, late), ("anon_x1y2z", Student::default(), false));
        for name in [
            "anna",
            "anna_1.tgz",
            "Anna_1_2_x.tgz",
            "anna_1_2_",
            "a_b_c_d.tgz",
            "submission_12",
        ] {
            assert!(moodle(name).is_none() && canvas(name).is_none(), "{name}");
        }
    }

    #[test]
    fn names_are_those_of_folders_and_unique() {
        let mut all = ["a/b", "A_B", "..", "index.html", ""].map(|name| Submission {
            name: name.into(),
            ..Submission::default()
        });
        distinguish(&mut all);
        let names = all.map(|s| s.name);
        assert_eq!(names, ["a_b", "A_B~2", "_", "_index.html", "_~2"]);
    }
}
