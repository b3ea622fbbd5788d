//! Finds the submissions of a class, and their owners in the names that Moodle and Canvas give to the files.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use grader::grades::{Grade, Origin, Student};

use super::sources::{is_layout, name_of};
use crate::marks;

/// A submission to grade.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Submission {
    /// Name of its folder in the folder of grades.
    pub name: String,
    /// Its archive or folder; several files if the student handed in several.
    pub paths: Vec<PathBuf>,
    pub student: Student,
    /// Whether the platform says that it is late.
    pub late: bool,
}

impl Submission {
    /// The owner is in the file's name, if Moodle or Canvas wrote it.
    fn new(path: PathBuf) -> Self {
        let name = name_of(&path);
        let one = moodle(&name).or_else(|| Some(canvas(&name).filter(|_| path.is_file())?.0));
        let mut one = one.unwrap_or_else(|| Self::named(if path.is_dir() { &name } else { stem(&name) }));
        one.paths.push(path);
        one
    }

    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
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
        if path.is_file() || is_one(&path) {
            all.push(Submission::new(path));
        } else {
            all.extend(class(&path, out, skipped)?);
        }
    }
    ensure!(!all.is_empty(), "the given paths contain no submission");
    distinguish(&mut all);
    Ok(all)
}

/// Whether a folder on the command line is a submission, and not a folder of submissions.
fn is_one(folder: &Path) -> bool {
    is_layout(folder) || folder.join(".git").exists() || moodle(&name_of(folder)).is_some()
}

/// The submissions of a folder. Several files of one student are one submission.
fn class(folder: &Path, out: &Path, skipped: &mut BTreeSet<String>) -> Result<Vec<Submission>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut entries: Vec<PathBuf> = entries.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
    entries.sort();
    // Canvas numbers each file once. If a number occurs twice, the names only look like Canvas'.
    let mut numbers = BTreeSet::new();
    let mut files = entries.iter().filter_map(|path| Some(canvas(&name_of(path))?.1));
    let by_canvas = files.all(|number| numbers.insert(number));
    let mut all: Vec<Submission> = Vec::new();
    for path in entries {
        if let Some(why) = no_submission(&path, out) {
            skipped.insert(format!("{}, because {why}", path.display()));
            continue;
        }
        let name = name_of(&path);
        let mut one = Submission::new(path);
        if !by_canvas && moodle(&name).is_none() {
            let paths = one.paths;
            one = Submission {
                paths,
                ..Submission::named(stem(&name))
            };
        }
        let known = all
            .iter_mut()
            .find(|s| s.student != Student::default() && s.name == one.name);
        match known {
            Some(known) if known.student == one.student => known.paths.append(&mut one.paths),
            _ => all.push(one),
        }
    }
    Ok(all)
}

/// Why an entry of a class is not a submission.
fn no_submission(path: &Path, out: &Path) -> Option<&'static str> {
    let name = name_of(path);
    let lower = name.to_lowercase();
    let sheet = [".csv", ".yml", ".yaml"].iter().any(|e| lower.ends_with(e)) && path.is_file();
    match () {
        () if name.starts_with('.') || name == "__MACOSX" => {
            Some("its name is that of a hidden file; rename it to grade it")
        }
        () if by_moodle(&name).is_some_and(|(.., kind)| kind.starts_with("onlinetext")) => {
            Some("a text is not a submission")
        }
        () if moodle(&name).is_some() || canvas(&name).is_some() => None,
        () if sheet => Some("a table or metadata is not a submission"),
        () if out.starts_with(path) && !is_layout(path) => Some("the grades are written there"),
        () if has_grades(path) => Some("it contains grades"),
        () => None,
    }
}

/// Whether a folder is one that an earlier run wrote. A student can hand in what looks like one, too: it contains more.
fn has_grades(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut visible = entries.filter(|e| !e.file_name().to_string_lossy().starts_with('.'));
    let is_grade = |path: &Path| path.join("grade.json").is_file() && !is_layout(path);
    !is_layout(folder)
        && folder.join(".seed").is_file()
        && visible.all(|e| marks::OWN.contains(&&*name_of(&e.path())) || is_grade(&e.path()))
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

/// Moodle's `Anna Example_12345_assignsubmission_file`, followed by `_` and the file's name if it is not in a folder
/// (`mod/assign/classes/downloader.php`). The number is that of the participant in the assignment. Returns the part before
/// `_assignsubmission_`, the name and the part after it.
fn by_moodle(name: &str) -> Option<(&str, &str, &str)> {
    let (person, kind) = name.split_once("_assignsubmission_")?;
    let (full, number) = person.rsplit_once('_')?;
    (number.parse::<u64>().is_ok() && !full.is_empty()).then_some((person, full, kind))
}

fn moodle(name: &str) -> Option<Submission> {
    let (person, full, _) = by_moodle(name).filter(|(.., kind)| kind.starts_with("file"))?;
    let mut one = Submission::named(person);
    one.student.name = full.to_owned();
    Some(one)
}

/// Canvas' `exampleanna_LATE_3101_778_submission.tar.gz` (`lib/content_zipper.rb`): the name for sorting without any sign, `LATE`,
/// the number of the user, that of the file, the student's name of it. Returns the number of the file, too.
fn canvas(name: &str) -> Option<(Submission, u64)> {
    let mut parts = name.splitn(6, '_').peekable();
    let person = parts.next().filter(|p| !p.is_empty() && p.to_lowercase() == *p)?;
    let late = parts.next_if_eq(&"LATE").is_some();
    let user = parts.next()?;
    let file = parts.next()?.parse::<u64>().ok()?;
    parts.next().filter(|rest| !rest.is_empty())?;
    let mut one = Submission {
        late,
        ..Submission::named(&format!("{person}_{user}"))
    };
    // Anonymous grading has `anon_` and five letters and digits in place of name and number.
    if person != "anon" || !user.bytes().all(|b| b.is_ascii_alphanumeric()) {
        one.student.name = person.to_owned();
        one.student.canvas = user.parse::<u64>().ok()?.to_string();
    }
    Some((one, file))
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
            "Anna Example_11_assignsubmission_file/submission.tar.gz",
            "Ben_12_assignsubmission_file_submission (1).tar.gz",
            "Ben_12_assignsubmission_file_notes.csv",
            "Ben_12_assignsubmission_onlinetext/x.html",
            "Eve_13_assignsubmission_file_x_assignsubmission_onlinetext.tar.gz",
            "Fay_14_assignsubmission_file_/.seed",
            "Fay_14_assignsubmission_file_/submission.tar.gz",
            "exampleclara_LATE_3101_778_submission.tar.gz",
            "dana.TGZ",
            "dana/exercises/lesson01/src/lib.rs",
            "notes.txt",
            "class.csv",
            ".DS_Store",
            "out/anna/grade.json",
            "earlier/.seed",
            "earlier/marks.csv",
            "earlier/anna/grade.json",
            "mimic/.seed",
            "mimic/hand-in/exercises/lesson01/src/lib.rs",
        ]);
        let pair = |name: &str, student: &str| (name.to_owned(), student.to_owned());
        assert_eq!(
            all,
            [
                pair("Anna Example_11", "Anna Example"),
                pair("Ben_12", "Ben"),
                pair("Eve_13", "Eve"),
                pair("Fay_14", "Fay"),
                pair("dana", ""),
                pair("dana~2", ""),
                pair("exampleclara_3101", "exampleclara"),
                pair("mimic", ""),
                pair("notes.txt", ""),
            ]
        );
        let names: Vec<&str> = skipped.iter().map(|s| s.split(',').next().unwrap()).collect();
        let onlinetext = "Ben_12_assignsubmission_onlinetext";
        assert_eq!(names, [".DS_Store", onlinetext, "class.csv", "earlier", "out"]);
    }

    #[test]
    fn a_folder_with_exercises_is_one_submission_even_if_it_looks_like_grades() {
        let (all, _) = found(&["x/.seed", "x/exercises/grade.json"]);
        assert_eq!(all, [("x".to_owned(), String::new())]);
    }

    #[test]
    fn a_students_folder_that_is_given_alone_belongs_to_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("Eve_12_assignsubmission_file");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("Anna_11_assignsubmission_file_x.tar.gz"), "").unwrap();
        let all = submissions(&[folder], Path::new("/out"), &mut BTreeSet::new()).unwrap();
        assert_eq!((all.len(), &*all[0].student.name), (1, "Eve"));
    }

    #[test]
    fn canvas_names_the_user_unless_it_is_anonymous() {
        let (one, file) = canvas("exampleanna_LATE_3101_778_my_work.tar.gz").unwrap();
        let facts = (&*one.name, &*one.student.canvas, one.late, file);
        assert_eq!(facts, ("exampleanna_3101", "3101", true, 778));
        let (one, _) = canvas("anon_x1y2z_778_work.tar.gz").unwrap();
        assert_eq!(one, Submission::named("anon_x1y2z"));
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
        // A file number that occurs twice is none of Canvas'.
        let (all, _) = found(&["hw_2026_1_anna.tar.gz", "hw_2026_1_ben.tar.gz"]);
        let names: Vec<&str> = all.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["hw_2026_1_anna", "hw_2026_1_ben"]);
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
