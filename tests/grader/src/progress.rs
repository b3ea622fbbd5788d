//! The progress of a student, as recorded by runs in one small file, `.course/progress.toml`. If it is damaged, the readable
//! part is kept, and the next runs fill in the rest.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{paths, worst};

/// The value of the file's `schema`. A file of a later version of the course is not changed.
pub const SCHEMA: u32 = 1;

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Exercises whose solution was shown before they were right.
    pub given_up: BTreeSet<String>,
    /// The number of hints shown for each exercise.
    pub hints: BTreeMap<String, usize>,
    /// The exercise that was checked last.
    pub last: String,
    /// For each exercise, the last result of each check: `right`, `wrong`, `to do`, `not run`.
    pub checks: BTreeMap<String, BTreeMap<String, String>>,
}

/// Why the file could not be read completely.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// It is damaged: the message of the parser.
    Damaged(String),
    /// It was written by a later version of the course.
    Newer(u32),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(why) => write!(f, "{FILE} is damaged ({why})"),
            Self::Newer(schema) => write!(
                f,
                "{FILE} has schema {schema}, and this course knows {SCHEMA}: it was written by a later version, \
                 and is left as it is"
            ),
        }
    }
}

const FILE: &str = ".course/progress.toml";

impl Progress {
    /// Loads the progress, or the readable part of it.
    pub fn load() -> Self {
        Self::look().0
    }

    /// Loads the progress, and what is wrong with the file, if anything.
    pub fn look() -> (Self, Option<Trouble>) {
        path().map_or_else(Default::default, |path| Self::read(&path))
    }

    fn read(path: &Path) -> (Self, Option<Trouble>) {
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Default::default(),
            Err(error) => return (Self::default(), Some(Trouble::Damaged(error.to_string()))),
        };
        Self::parse(&text)
    }

    fn parse(text: &str) -> (Self, Option<Trouble>) {
        let newer = |p: &Self| (p.schema > SCHEMA).then_some(Trouble::Newer(p.schema));
        let error = match toml::from_str::<Self>(text) {
            Ok(progress) => {
                let newer = newer(&progress);
                return (progress, newer);
            }
            Err(error) => error,
        };
        // A later version may have changed all but its number.
        #[derive(Deserialize)]
        struct Number {
            schema: u32,
        }
        if let Ok(Number { schema }) = toml::from_str(text)
            && schema > SCHEMA
        {
            return (Self::default(), Some(Trouble::Newer(schema)));
        }
        let why = error.message().lines().next().unwrap_or_default().to_owned();
        (Self::salvaged(text), Some(Trouble::Damaged(why)))
    }

    /// The part before the damage: the most lines from the beginning that can be parsed.
    fn salvaged(text: &str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        (0..lines.len())
            .rev()
            .find_map(|n| toml::from_str(&lines[..n].join("\n")).ok())
            .unwrap_or_default()
    }

    /// Saves it atomically.
    fn save(&mut self, path: &Path) -> io::Result<()> {
        self.schema = SCHEMA;
        let text = toml::to_string(self).map_err(io::Error::other)?;
        let next = path.with_extension(format!("{}.tmp", std::process::id()));
        fs::write(&next, text)?;
        fs::rename(next, path)
    }

    /// The state of an exercise: `right` only if every check was, `to do` if nothing is known.
    pub fn state(&self, exercise: &str) -> &'static str {
        let Some(checks) = self.checks.get(exercise).filter(|c| !c.is_empty()) else {
            return "to do";
        };
        worst(checks.values().map(String::as_str))
    }
}

/// Loads, changes and saves it, under a lock against other processes. A copy of a damaged file is kept next to it.
///
/// # Errors
/// Returns an error if a file operation fails, or if the file is of a later version; it is not changed then.
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
    let (mut progress, trouble) = Progress::read(path);
    match trouble {
        Some(Trouble::Newer(_)) => {
            return Err(io::Error::other(
                trouble.map_or_else(String::new, |t| t.to_string()),
            ));
        }
        Some(Trouble::Damaged(_)) => {
            let mut beside = (1..).map(|n| path.with_extension(format!("damaged-{n}.toml")));
            if let Some(free) = beside.find(|p| !p.exists()) {
                fs::rename(path, free)?;
            }
        }
        None => {}
    }
    let result = by(&mut progress);
    progress.save(path)?;
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
    fn the_part_before_the_damage_is_kept() {
        let mut whole = Progress {
            schema: SCHEMA,
            ..Progress::default()
        };
        whole.hints.insert("1.1".into(), 2);
        whole.note(&[("1.1", "a")], &[("1.1", "a", "right")]);
        let text = toml::to_string(&whole).unwrap();
        let (read, trouble) = Progress::parse(&format!("{text}\n[checks.\"1.2\"]\nb = \"ri"));
        assert_eq!(
            (read.hints, read.checks),
            (whole.hints, {
                let mut checks = whole.checks;
                checks.insert("1.2".into(), BTreeMap::new());
                checks
            })
        );
        assert!(matches!(trouble, Some(Trouble::Damaged(_))));
        for text in [
            "hints = 3",
            "\u{0}\u{1}",
            "[checks]\n1 = [",
            "[hints]\n\"1.1\" = -1",
        ] {
            let (read, trouble) = Progress::parse(text);
            assert_eq!(read, Progress::default(), "{text:?}");
            assert!(matches!(trouble, Some(Trouble::Damaged(_))), "{text:?}");
        }
        assert_eq!(Progress::parse(""), (Progress::default(), None));
    }

    #[test]
    fn a_damaged_file_is_kept_beside_the_new_one() {
        let folder = Folder::new("damaged");
        fs::write(folder.file(), "[hints]\n\"1.1\" = 2\n\"1.2\" = ").unwrap();
        change_at(&folder.file(), |p| p.given_up.insert("1.2".into())).unwrap();
        let (read, trouble) = Progress::read(&folder.file());
        assert_eq!((read.hints.get("1.1"), trouble), (Some(&2), None));
        assert!(read.given_up.contains("1.2"));
        assert!(folder.0.join("progress.damaged-1.toml").exists());
    }

    #[test]
    fn a_file_of_a_later_version_is_not_touched() {
        let folder = Folder::new("newer");
        for text in [
            "schema = 7\n[hints]\n\"1.1\" = 2\n",
            "schema = 7\nhints = \"other\"\n",
        ] {
            fs::write(folder.file(), text).unwrap();
            let error = change_at(&folder.file(), |p| p.hints.clear())
                .unwrap_err()
                .to_string();
            assert!(error.contains("schema 7"), "{error}");
            assert_eq!(fs::read_to_string(folder.file()).unwrap(), text);
        }
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("course-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn file(&self) -> PathBuf {
            self.0.join("progress.toml")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
