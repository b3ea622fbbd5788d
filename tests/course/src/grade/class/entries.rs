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
    /// Its archive or folder.
    pub path: PathBuf,
    pub student: Student,
    /// Whether the platform says that it is late.
    pub late: bool,
}

/// All submissions that the arguments name: archives, folders with `exercises`, and folders of these. The second list
/// names each entry of a folder that is not graded. `out` is not a submission, wherever it is.
///
/// # Errors
/// Returns an error if a path does not exist or cannot be read.
pub fn entries(given: &[PathBuf], out: &Path) -> Result<(Vec<Entry>, Vec<String>)> {
    let (mut folders, mut skipped) = (BTreeMap::<_, BTreeSet<_>>::new(), Vec::new());
    let mut insert = |path: PathBuf| {
        let folder = path.parent().map(Path::to_owned);
        folders.entry(folder).or_default().insert(path);
    };
    for path in given {
        let path = fs::canonicalize(path).with_context(|| format!("{} does not exist", path.display()))?;
        ensure!(
            path != out,
            "{} contains submissions: choose another folder for --out",
            path.display()
        );
        let alone = is_layout(&path) || path.join(".git").exists() || moodle(&name_of(&path)).is_some();
        if path.is_file() || alone {
            insert(path);
            continue;
        }
        for entry in fs::read_dir(&path).with_context(|| path.display().to_string())? {
            let path = entry?.path();
            match no_submission(&path, out) {
                Some(why) => skipped.push(format!("{}, because {why}", path.display())),
                None => insert(path),
            }
        }
    }
    ensure!(!folders.is_empty(), "the given paths contain no submission");
    let owned = |paths| owned(paths, &mut skipped);
    let mut all: Vec<Entry> = folders.into_values().flat_map(owned).collect();
    distinguish(&mut all);
    Ok((all, skipped))
}

/// Why an entry of a class is not a submission.
fn no_submission(path: &Path, out: &Path) -> Option<&'static str> {
    let name = name_of(path);
    let ending = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    if name.starts_with('.') || name == "__MACOSX" {
        Some("its name is that of a hidden file; rename it to grade it")
    } else if moodle(&name).is_some() || canvas(&name).is_some() || is_layout(path) {
        None
    } else if name.contains("_assignsubmission_onlinetext") {
        Some("a text is not a submission")
    } else if ["csv", "yml", "yaml"].contains(&&*ending) && path.is_file() {
        Some("a table or metadata is not a submission")
    } else if out.starts_with(path) || path.join(".seed").is_file() {
        Some("it contains grades")
    } else {
        None
    }
}

/// The submissions in `paths`, which are of one folder, with their owners. Each dropped file is added to `skipped`.
fn owned(paths: BTreeSet<PathBuf>, skipped: &mut Vec<String>) -> Vec<Entry> {
    // Canvas numbers each file once. If a number occurs twice, the names only look like Canvas'.
    let numbers = paths.iter().filter_map(|path| Some(canvas(&name_of(path))?.1));
    let numbers: Vec<u64> = numbers.collect();
    let by_canvas = numbers.len() == BTreeSet::from_iter(&numbers).len();
    let entry = |path: PathBuf| {
        let name = name_of(&path);
        let of_canvas = || Some(canvas(&name).filter(|_| by_canvas && path.is_file())?.0);
        let mut one = moodle(&name).or_else(of_canvas).unwrap_or_else(|| Entry {
            name: stem(&name).filter(|_| path.is_file()).unwrap_or(&name).to_owned(),
            ..Entry::default()
        });
        one.path = path;
        one
    };
    let all: Vec<Entry> = paths.into_iter().map(entry).collect();
    // If a student handed in an archive and other files, the archive counts.
    let is_archive = |one: &Entry| one.path.is_dir() || stem(&name_of(&one.path)).is_some();
    let archives = all.iter().filter(|one| is_archive(one));
    let archives: BTreeSet<String> = archives.map(|one| one.name.clone()).collect();
    let counts = |one: &Entry| is_archive(one) || !archives.contains(&one.name);
    let (all, others): (Vec<Entry>, Vec<Entry>) = all.into_iter().partition(counts);
    let why = |one: &Entry| format!("{}, because the student's archive counts", one.path.display());
    skipped.extend(others.iter().map(why));
    all
}

/// Makes the names unique, also if upper and lower case are the same.
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

    /// Each path in a class, with its name, student, Canvas' number and lateness, or whether it is skipped or belongs to
    /// the line before.
    const CLASS: &str = "\
.DS_Store | skipped
Anna Example_11_assignsubmission_file/submission.tar.gz | Anna Example_11 | Anna Example | | false
Ben_12_assignsubmission_file_submission (1).tar.gz | Ben_12 | Ben | | false
Ben_12_assignsubmission_file_notes.csv | skipped
Ben_12_assignsubmission_onlinetext/x.html | skipped
Eve_13_assignsubmission_file_x_assignsubmission_onlinetext.tar.gz | Eve_13 | Eve | | false
anon_x1y2z_779_work.tar.gz | anon_x1y2z | | | false
class.csv | skipped
DANA.TGZ | DANA | | | false
dana/exercises/lesson01/src/lib.rs | dana~2 | | | false
earlier/.seed | skipped
exampleclara_3101_777_notes.txt | skipped
exampleclara_LATE_3101_778_submission.tar.gz | exampleclara_3101 | exampleclara | 3101 | true
mimic/.seed | mimic | | | false
mimic/exercises/lesson01/src/lib.rs | same
index.html | _index.html | | | false
notes.txt | notes.txt | | | false
out/anna/grade.json | skipped";

    #[test]
    fn each_archive_and_each_folder_of_a_class_is_a_submission() {
        let dir = tempfile::tempdir().unwrap();
        let class = dir.path().canonicalize().unwrap();
        let (mut expected, mut not) = (BTreeSet::new(), BTreeSet::new());
        for line in CLASS.lines() {
            let (path, what) = line.split_once(" | ").unwrap();
            marks::put(&class.join(path), "").unwrap();
            match what {
                "skipped" => not.insert(path.split('/').next().unwrap().to_owned()),
                "same" => true,
                _ => expected.insert(what.replace(' ', "")),
            };
        }
        let (given, out) = (std::slice::from_ref(&class), class.join("out"));
        let (all, skipped) = entries(given, &out).unwrap();
        let found = all.iter().map(|one| {
            let Student { name, canvas, .. } = &one.student;
            format!("{}|{name}|{canvas}|{}", one.name, one.late).replace(' ', "")
        });
        assert_eq!(BTreeSet::from_iter(found), expected);
        let skipped = skipped
            .iter()
            .map(|line| name_of(Path::new(line.split(',').next().unwrap())));
        assert_eq!(BTreeSet::from_iter(skipped), not);
        // A shell's `*` gives the files one by one, and a path may be given twice.
        let one_by_one = all.iter().map(|one| one.path.clone()).chain([class.clone()]);
        assert_eq!(entries(&Vec::from_iter(one_by_one), &out).unwrap().0, all);
        // In a second folder, the student has an archive in the first one, and Canvas' numbers are those of other files.
        let week = tempfile::tempdir().unwrap();
        fs::write(week.path().join("exampleclara_3101_778_notes.txt"), "").unwrap();
        let (both, _) = entries(&[week.path().into(), class.clone()], &out).unwrap();
        let names = |name: &str| both.iter().filter(|one| one.name.starts_with(name)).count();
        assert_eq!((both.len(), names("exampleclara_3101")), (all.len() + 1, 2));
        assert!(
            entries(given, &class).is_err(),
            "the grades are not among the submissions"
        );
    }

    #[test]
    fn names_are_those_of_folders_and_unique() {
        for name in ["anna", "anna_1.tgz", "Anna_1_2_x.tgz", "anna_1_2_", "a_b_c_d.tgz"] {
            assert!(moodle(name).is_none() && canvas(name).is_none(), "{name}");
        }
        // A file number that occurs twice is none of Canvas'.
        let paths = ["hw_2026_1_anna.tar.gz", "hw_2026_1_ben.tar.gz"].map(PathBuf::from);
        let all = owned(paths.into(), &mut Vec::new());
        let names = all.into_iter().map(|one| one.name);
        assert_eq!(
            Vec::from_iter(names),
            ["hw_2026_1_anna.tar.gz", "hw_2026_1_ben.tar.gz"]
        );
        for (raw, name) in [
            ("a/b", "a_b"),
            ("..", "_"),
            ("", "_"),
            (".git", "_git"),
            ("x. ", "x"),
        ] {
            assert_eq!(folder_name(raw), name);
        }
    }
}
