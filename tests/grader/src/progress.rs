//! The progress of a student, as recorded by runs in one small file, `.course/progress.toml`. If it is damaged, the next runs
//! write it anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{paths, worst};

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Exercises whose solution was shown before they were right.
    pub given_up: BTreeSet<String>,
    /// The number of hints shown for each exercise.
    pub hints: BTreeMap<String, usize>,
    /// The exercise that was checked last.
    pub last: String,
    /// For each exercise, the last result of each check: `right`, `wrong`, `to do`, `not run`.
    pub checks: BTreeMap<String, BTreeMap<String, String>>,
}

const FILE: &str = ".course/progress.toml";

impl Progress {
    /// Loads the progress: none if there is no file, or if it is damaged.
    pub fn load() -> Self {
        Self::look().0
    }

    /// Loads the progress, and why the file could not be read, if it could not.
    pub fn look() -> (Self, Option<String>) {
        path().map_or_else(Default::default, |path| Self::read(&path))
    }

    fn read(path: &Path) -> (Self, Option<String>) {
        let parsed = match fs::read_to_string(path) {
            Ok(text) => toml::from_str(&text).map_err(|error| error.message().to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error.to_string()),
        };
        match parsed {
            Ok(progress) => (progress, None),
            Err(why) => {
                let why = why.lines().next().unwrap_or_default();
                (Self::default(), Some(format!("{FILE} is damaged ({why})")))
            }
        }
    }

    /// The state of an exercise: `right` only if every check was, `to do` if nothing is known.
    pub fn state(&self, exercise: &str) -> &'static str {
        let Some(checks) = self.checks.get(exercise).filter(|c| !c.is_empty()) else {
            return "to do";
        };
        worst(checks.values().map(String::as_str))
    }
}

/// Loads, changes and saves it, under a lock against other processes. A damaged file is kept next to it.
///
/// # Errors
/// Returns an error if a file operation fails.
pub fn change<T>(by: impl FnOnce(&mut Progress) -> T) -> io::Result<T> {
    match path() {
        Some(path) => change_at(&path, by),
        None => Ok(by(&mut Progress::default())),
    }
}

fn change_at<T>(path: &Path, by: impl FnOnce(&mut Progress) -> T) -> io::Result<T> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let lock = fs::File::create(folder.join("lock"))?;
    // Unlocked when it is closed, at the end. If files cannot be locked, two runs at once may lose a result.
    let _ = lock.lock();
    let (mut progress, damaged) = Progress::read(path);
    if damaged.is_some() {
        fs::rename(path, path.with_extension("damaged.toml"))?;
    }
    let result = by(&mut progress);
    let text = toml::to_string(&progress).map_err(io::Error::other)?;
    let next = path.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&next, text)?;
    fs::rename(next, path)?;
    Ok(result)
}

fn path() -> Option<PathBuf> {
    paths::root().map(|root| root.join(FILE))
}

/// Records the results of a run: (exercise, check, result). `all` are the checks of the lesson. For an exercise of the run,
/// checks that did not run keep their last result, and checks that no longer exist are removed.
///
/// # Errors
/// Returns the errors of [`change`].
pub fn note_checks<'a>(
    all: impl Iterator<Item = (&'a str, &'a str)>,
    ran: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
) -> io::Result<()> {
    let (all, ran): (Vec<_>, Vec<_>) = (all.collect(), ran.collect());
    change(|progress| progress.note(&all, &ran))
}

impl Progress {
    fn note(&mut self, all: &[(&str, &str)], ran: &[(&str, &str, &str)]) {
        for &(exercise, check, word) in ran {
            let of_exercise = self.checks.entry(exercise.to_owned()).or_default();
            of_exercise.retain(|known, _| all.contains(&(exercise, known)));
            for (_, other) in all.iter().filter(|(e, _)| *e == exercise) {
                of_exercise.entry((*other).to_owned()).or_insert("to do".into());
            }
            of_exercise.insert(check.to_owned(), word.to_owned());
            self.last = exercise.to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exercise_is_right_only_when_every_check_was() {
        let all = [("1.1", "a"), ("1.1", "b"), ("1.2", "c")];
        let mut progress = Progress::default();
        progress.note(&all, &[("1.1", "a", "right")]);
        assert_eq!(progress.state("1.1"), "to do");
        progress.note(&all, &[("1.1", "b", "right")]);
        assert_eq!(progress.state("1.1"), "right");
        progress.note(&all, &[("1.1", "b", "not run")]);
        assert_eq!(
            (progress.state("1.1"), progress.state("1.2")),
            ("not run", "to do")
        );
        progress.note(&all[..1], &[("1.1", "a", "right")]);
        assert_eq!(progress.state("1.1"), "right");
    }

    #[test]
    fn a_damaged_file_is_kept_beside_the_new_one() {
        let folder = std::env::temp_dir().join(format!("course-damaged-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("progress.toml");
        for damaged in ["[hints]\n\"1.1\" = 2\n\"1.2\" = ", "hints = 3"] {
            fs::write(&file, damaged).unwrap();
            assert!(Progress::read(&file).1.unwrap().contains("is damaged"));
            change_at(&file, |p| p.given_up.insert("1.2".into())).unwrap();
            let (read, trouble) = Progress::read(&file);
            assert!(read.given_up.contains("1.2") && trouble.is_none(), "{trouble:?}");
            assert_eq!(
                fs::read_to_string(folder.join("progress.damaged.toml")).unwrap(),
                damaged
            );
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
