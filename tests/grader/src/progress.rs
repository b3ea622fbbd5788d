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
    /// Why the file could not be read, if it could not.
    #[serde(skip)]
    pub damaged: Option<String>,
    /// For each exercise, the last result of each check: `right`, `wrong`, `to do`, `not run`.
    pub checks: BTreeMap<String, BTreeMap<String, String>>,
}

const FILE: &str = ".course/progress.toml";

impl Progress {
    /// Loads the progress: none if there is no file, or if it is damaged.
    pub fn load() -> Self {
        Self::read(&path()).unwrap_or_else(|why| Self {
            damaged: Some(why),
            ..Self::default()
        })
    }

    fn read(path: &Path) -> Result<Self, String> {
        let read = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => Err(error.to_string()),
            Ok(text) => toml::from_str(&text).map_err(|error| error.message().to_owned()),
        };
        read.map_err(|why| format!("{FILE} is damaged ({})", why.lines().next().unwrap_or_default()))
    }

    /// The state of an exercise: `right` only if every check was, `to do` if nothing is known.
    pub fn state(&self, exercise: &str) -> &'static str {
        match self.checks.get(exercise) {
            Some(checks) if !checks.is_empty() => worst(checks.values().map(String::as_str)),
            _ => "to do",
        }
    }

    /// Records the results of a run: (exercise, check, result). `all` are the checks of the lesson. For an exercise of
    /// the run, checks that did not run keep their last result, and checks that no longer exist are removed.
    pub(crate) fn note(&mut self, all: &[(&str, &str)], ran: &[(&str, &str, &str)]) {
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

/// Loads, changes and saves it, under a lock against other processes. A damaged file is kept next to it.
///
/// # Errors
/// Returns an error if a file operation fails.
pub fn change<T>(by: impl FnOnce(&mut Progress) -> T) -> io::Result<T> {
    change_at(&path(), by)
}

fn change_at<T>(path: &Path, by: impl FnOnce(&mut Progress) -> T) -> io::Result<T> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let lock = fs::File::create(folder.join("lock"))?;
    // Unlocked when it is closed, at the end. If files cannot be locked, two runs at once may lose a result.
    let _ = lock.lock();
    let read = Progress::read(path);
    if read.is_err() {
        fs::rename(path, path.with_extension("damaged.toml"))?;
    }
    let mut progress = read.unwrap_or_default();
    let result = by(&mut progress);
    let text = toml::to_string(&progress).map_err(io::Error::other)?;
    let next = path.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&next, text)?;
    fs::rename(next, path)?;
    Ok(result)
}

fn path() -> PathBuf {
    paths::root().unwrap_or_default().join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exercise_is_right_only_when_every_check_was() {
        let all = [("1.1", "a"), ("1.1", "b"), ("1.2", "c")];
        let mut progress = Progress::default();
        for (known, check, word, state) in [
            (3, "a", "right", "to do"),
            (3, "b", "right", "right"),
            (3, "b", "not run", "not run"),
            (1, "a", "right", "right"),
        ] {
            progress.note(&all[..known], &[("1.1", check, word)]);
            assert_eq!((progress.state("1.1"), progress.state("1.2")), (state, "to do"));
        }
    }

    #[test]
    fn a_damaged_file_is_kept_beside_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("progress.toml");
        fs::write(&file, "[hints]\n\"1.2\" = ").unwrap();
        assert!(Progress::read(&file).unwrap_err().contains("is damaged"));
        change_at(&file, |p| p.given_up.insert("1.2".into())).unwrap();
        assert!(Progress::read(&file).unwrap().given_up.contains("1.2"));
        let kept = fs::read_to_string(folder.path().join("progress.damaged.toml"));
        assert_eq!(kept.unwrap(), "[hints]\n\"1.2\" = ");
    }
}
