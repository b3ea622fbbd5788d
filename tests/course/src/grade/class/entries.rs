//! Finds the submissions of a class, and their owners in the names that Moodle and Canvas give to the files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use grader::grades::Student;

use crate::{
    marks,
    submission::{is_layout, name_of, stem},
};

/// A submission to grade.
#[derive(Debug, Default, PartialEq)]
pub struct Entry {
    /// Name of its folder in the folder of grades.
    pub name: String,
    /// Its archive or folder; several files if the student handed in several.
    pub paths: Vec<PathBuf>,
    pub student: Student,
    /// Whether the platform says that it is late.
    pub late: bool,
}

/// All submissions that the arguments name: archives, folders with `exercises`, and folders of these. The second list
/// names each entry of a folder that is not a submission. `out` is not one, wherever it is.
///
/// # Errors
/// Returns an error if a path does not exist or cannot be read.
pub fn entries(given: &[PathBuf], out: &Path) -> Result<(Vec<Entry>, Vec<String>)> {
    let (mut classes, mut skipped) = (BTreeMap::<PathBuf, BTreeSet<PathBuf>>::new(), Vec::new());
    for path in given {
        let path = fs::canonicalize(path).with_context(|| format!("{} does not exist", path.display()))?;
        ensure!(
            path != out,
            "{} contains submissions: choose another folder for --out",
            path.display()
        );
        let alone = is_layout(&path) || path.join(".git").exists() || moodle(&name_of(&path)).is_some();
        if path.is_file() || alone {
            let folder = path.parent().unwrap_or(&path).to_owned();
            classes.entry(folder).or_default().insert(path);
            continue;
        }
        let class = classes.entry(path.clone()).or_default();
        for entry in fs::read_dir(&path).with_context(|| path.display().to_string())? {
            let path = entry?.path();
            match no_submission(&path, out) {
                Some(why) => skipped.push(format!("{}, because {why}", path.display())),
                None => _ = class.insert(path),
            }
        }
    }
    let mut all: Vec<Entry> = classes.into_values().flat_map(of_students).collect();
    ensure!(!all.is_empty(), "the given paths contain no submission");
    distinguish(&mut all);
    Ok((all, skipped))
}

/// The submissions in these paths of one folder. Several files of one student are one submission.
fn of_students(paths: BTreeSet<PathBuf>) -> Vec<Entry> {
    // Canvas numbers each file once. If a number occurs twice, the names only look like Canvas'.
    let numbers: Vec<u64> = paths
        .iter()
        .filter_map(|path| Some(canvas(&name_of(path))?.1))
        .collect();
    let by_canvas = numbers.len() == BTreeSet::from_iter(&numbers).len();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut all: Vec<Entry> = Vec::new();
    for path in paths {
        let name = name_of(&path);
        let of_canvas = || canvas(&name).filter(|_| by_canvas && path.is_file());
        let Some(mut one) = moodle(&name).or_else(|| Some(of_canvas()?.0)) else {
            let stem = if path.is_dir() {
                &name
            } else {
                stem(&name).unwrap_or(&name)
            };
            all.push(Entry {
                name: stem.to_owned(),
                paths: vec![path],
                ..Entry::default()
            });
            continue;
        };
        match known.get(&one.name) {
            Some(&at) => {
                all[at].paths.push(path);
                all[at].late |= one.late;
            }
            None => {
                known.insert(one.name.clone(), all.len());
                one.paths.push(path);
                all.push(one);
            }
        }
    }
    all
}

/// Why an entry of a class is not a submission.
fn no_submission(path: &Path, out: &Path) -> Option<&'static str> {
    let name = name_of(path);
    let table = [".csv", ".yml", ".yaml"]
        .iter()
        .any(|e| name.to_lowercase().ends_with(e));
    if name.starts_with('.') || name == "__MACOSX" {
        Some("its name is that of a hidden file; rename it to grade it")
    } else if name.contains("_assignsubmission_onlinetext") && moodle(&name).is_none() {
        Some("a text is not a submission")
    } else if moodle(&name).is_some() || canvas(&name).is_some() || is_layout(path) {
        None
    } else if table && path.is_file() {
        Some("a table or metadata is not a submission")
    } else if out.starts_with(path) || path.join(".seed").is_file() {
        Some("it contains grades")
    } else {
        None
    }
}

/// Moodle's `Anna Example_12345_assignsubmission_file`, followed by `_` and the file's name if it is not in a folder
/// (`mod/assign/classes/downloader.php`). The number is that of the participant in the assignment.
fn moodle(name: &str) -> Option<Entry> {
    let (person, _) = name.split_once("_assignsubmission_file")?;
    let (full, number) = person.rsplit_once('_')?;
    number.parse::<u64>().ok().filter(|_| !full.is_empty())?;
    let mut one = Entry::default();
    (one.name, one.student.name) = (person.to_owned(), full.to_owned());
    Some(one)
}

/// Canvas' `exampleanna_LATE_3101_778_submission.tar.gz` (`lib/content_zipper.rb`): the name for sorting without any
/// sign, `LATE`, the number of the user, that of the file, the student's name of it. Returns the number of the file,
/// too.
fn canvas(name: &str) -> Option<(Entry, u64)> {
    let mut parts = name.splitn(6, '_').peekable();
    let person = parts.next().filter(|p| !p.is_empty() && p.to_lowercase() == *p)?;
    let late = parts.next_if_eq(&"LATE").is_some();
    let user = parts.next()?;
    let file = parts.next()?.parse::<u64>().ok()?;
    parts.next().filter(|rest| !rest.is_empty())?;
    let mut one = Entry {
        name: format!("{person}_{user}"),
        late,
        ..Entry::default()
    };
    // Anonymous grading has `anon_` and five letters and digits in place of name and number.
    if person != "anon" {
        one.student.name = person.to_owned();
        one.student.canvas = user.parse::<u64>().ok()?.to_string();
    }
    Some((one, file))
}

/// Gives each submission a unique name, which can be the name of a folder, also where upper and lower case are the
/// same.
fn distinguish(all: &mut [Entry]) {
    let mut used = BTreeSet::new();
    for one in all {
        let name = folder_name(&one.name);
        one.name = name.clone();
        for number in 2.. {
            if used.insert(one.name.to_lowercase()) {
                break;
            }
            one.name = format!("{name}~{number}");
        }
    }
}

/// A name of plain characters that differs from the names of our own files, which may begin with a dot.
fn folder_name(raw: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || " -_.,()@'+=~&#".contains(c);
    let mut name: String = raw.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    while name.len() > 200 {
        name.pop();
    }
    let name = name.trim().trim_end_matches('.');
    let own = name.is_empty() || name.starts_with('.') || marks::OWN.contains(&&*name.to_lowercase());
    format!("{}{}", if own { "_" } else { "" }, name.trim_start_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_archive_and_each_folder_of_a_class_is_a_submission() {
        let dir = tempfile::tempdir().unwrap();
        let class = dir.path().canonicalize().unwrap();
        for path in [
            "Anna Example_11_assignsubmission_file/submission.tar.gz",
            "Ben_12_assignsubmission_file_submission (1).tar.gz",
            "Ben_12_assignsubmission_file_notes.csv",
            "Ben_12_assignsubmission_onlinetext/x.html",
            "Eve_13_assignsubmission_file_x_assignsubmission_onlinetext.tar.gz",
            "exampleclara_3101_777_notes.txt",
            "exampleclara_LATE_3101_778_submission.tar.gz",
            "anon_x1y2z_779_work.tar.gz",
            "dana.TGZ",
            "dana/exercises/lesson01/src/lib.rs",
            "mimic/exercises/lesson01/src/lib.rs",
            "mimic/.seed",
            "notes.txt",
            "class.csv",
            ".DS_Store",
            "out/anna/grade.json",
            "earlier/.seed",
        ] {
            fs::create_dir_all(class.join(path).parent().unwrap()).unwrap();
            fs::write(class.join(path), "").unwrap();
        }
        let (given, out) = (std::slice::from_ref(&class), class.join("out"));
        let (all, mut skipped) = entries(given, &out).unwrap();
        // A shell's `*` gives the files one by one, and a path may be given twice.
        let files = fs::read_dir(&class).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| {
            skipped
                .iter()
                .all(|line| !line.starts_with(path.to_str().unwrap()))
        });
        let one_by_one = entries(&files.chain([class.clone()]).collect::<Vec<_>>(), &out).unwrap();
        assert_eq!(all, one_by_one.0);
        assert!(
            entries(given, &class).is_err(),
            "the grades are not among the submissions"
        );
        let all = all.iter().map(|e| {
            (
                &*e.name,
                &*e.student.name,
                &*e.student.canvas,
                e.paths.len(),
                e.late,
            )
        });
        assert_eq!(
            Vec::from_iter(all),
            [
                ("Anna Example_11", "Anna Example", "", 1, false),
                ("Ben_12", "Ben", "", 2, false),
                ("Eve_13", "Eve", "", 1, false),
                ("anon_x1y2z", "", "", 1, false),
                ("dana", "", "", 1, false),
                ("dana~2", "", "", 1, false),
                ("exampleclara_3101", "exampleclara", "3101", 2, true),
                ("mimic", "", "", 1, false),
                ("notes.txt", "", "", 1, false),
            ]
        );
        skipped.sort();
        let skipped = skipped
            .iter()
            .map(|line| name_of(Path::new(line.split(',').next().unwrap())));
        let expected = [
            ".DS_Store",
            "Ben_12_assignsubmission_onlinetext",
            "class.csv",
            "earlier",
            "out",
        ];
        assert_eq!(Vec::from_iter(skipped), expected);
    }

    #[test]
    fn names_are_those_of_folders_and_unique() {
        for name in ["anna", "anna_1.tgz", "Anna_1_2_x.tgz", "anna_1_2_", "a_b_c_d.tgz"] {
            assert!(moodle(name).is_none() && canvas(name).is_none(), "{name}");
        }
        // A file number that occurs twice is none of Canvas'.
        let mut all = of_students(
            ["hw_2026_1_anna.tar.gz", "hw_2026_1_ben.tar.gz"]
                .map(PathBuf::from)
                .into(),
        );
        all.extend(["a/b", "A_B", "..", "index.html", ""].map(|name| Entry {
            name: name.into(),
            ..Entry::default()
        }));
        distinguish(&mut all);
        let names: Vec<&str> = all.iter().map(|one| &*one.name).collect();
        let hw = ["hw_2026_1_anna", "hw_2026_1_ben"];
        assert_eq!(
            names,
            [&hw[..], &["a_b", "A_B~2", "_", "_index.html", "_~2"]].concat()
        );
    }
}
