//! What a student has done, as runs have shown it: one small file, `.course/progress.toml`. Lost or damaged, it is
//! empty, and the next run fills it again.

use std::{collections::BTreeMap, fs, io, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::place;

/// All of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Hints seen of each exercise.
    pub hints: BTreeMap<String, usize>,
    /// Of each exercise, each check's last word: `right`, `wrong`, `to do`, `not run`.
    pub checks: BTreeMap<String, BTreeMap<String, String>>,
}

impl Progress {
    /// As it is kept, or empty.
    pub fn load() -> Self {
        let text = path()
            .and_then(|p| fs::read_to_string(p).ok())
            .unwrap_or_default();
        toml::from_str(&text).unwrap_or_default()
    }

    /// Keeps it: whole or not at all.
    fn save(&self) -> io::Result<()> {
        let Some(path) = path() else {
            return Ok(());
        };
        let text = toml::to_string(self).map_err(io::Error::other)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let next = path.with_extension(format!("{}.tmp", std::process::id()));
        fs::write(&next, text)?;
        fs::rename(next, path)
    }

    /// The state of an exercise: `right` only where every check was, `to do` where nothing is known.
    pub fn state(&self, exercise: &str) -> &'static str {
        let Some(checks) = self.checks.get(exercise).filter(|c| !c.is_empty()) else {
            return "to do";
        };
        ["wrong", "to do", "not run"]
            .into_iter()
            .find(|w| checks.values().any(|v| v == w))
            .unwrap_or("right")
    }
}

/// Reads, changes and keeps it; another process that does the same waits meanwhile.
///
/// # Errors
/// Those of the file system.
pub fn change<T>(by: impl FnOnce(&mut Progress) -> T) -> io::Result<T> {
    let folder = path().and_then(|p| p.parent().map(PathBuf::from));
    let lock = match folder {
        Some(folder) => {
            fs::create_dir_all(&folder)?;
            Some(fs::File::create(folder.join("lock"))?)
        }
        None => None,
    };
    // Unlocked when it is closed, at the end. Where files cannot be locked, two at once may lose a word.
    let _ = lock.as_ref().map(fs::File::lock);
    let mut progress = Progress::load();
    let result = by(&mut progress);
    progress.save()?;
    Ok(result)
}

fn path() -> Option<PathBuf> {
    place::root().map(|root| root.join(".course/progress.toml"))
}

/// Keeps what a run showed: (exercise, check, word). `all` are the lesson's checks: of an exercise that the run
/// touched, those that it left out keep their last word, and those that no longer exist are forgotten.
///
/// # Errors
/// Those of the file system.
pub fn note_checks<'a>(
    all: impl Iterator<Item = (&'a str, &'a str)>,
    ran: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
) -> io::Result<()> {
    let (all, ran): (Vec<_>, Vec<_>) = (all.collect(), ran.collect());
    change(|progress| progress.note(&all, &ran))?;
    Ok(())
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
    fn a_damaged_file_is_an_empty_one() {
        for text in [
            "",
            "hints = 3",
            "\u{0}\u{1}",
            "[checks]\n1 = [",
            "[hints]\n\"1.1\" = -1",
        ] {
            let read: Progress = toml::from_str(text).unwrap_or_default();
            assert_eq!(read, Progress::default(), "{text:?}");
        }
    }
}
