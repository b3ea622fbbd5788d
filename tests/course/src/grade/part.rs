//! A part of a class, for a job array: its tasks grade into one folder, each its own submissions.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context, Result};
use grader::seed;

/// Every `of`-th submission, beginning with number `index`, which counts from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    index: usize,
    of: usize,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((index, of)) if 1 <= index && index <= of => Ok(Self { index, of }),
            _ => Err("expected I/N with 1 ≤ I ≤ N, such as 2/5".into()),
        }
    }
}

/// The submissions of a part. Their names are those of the whole class, because equal ones are told apart there.
pub fn of<T>(part: Option<Part>, all: Vec<T>) -> Vec<T> {
    let Some(Part { index, of }) = part else {
        return all;
    };
    all.into_iter().skip(index - 1).step_by(of).collect()
}

/// A hidden file or folder of a run, which the other parts do not use.
pub fn own(part: Option<Part>, out: &Path, name: &str) -> PathBuf {
    out.join(part.map_or(name.to_owned(), |p| format!("{name}-{}", p.index)))
}

/// The seed of all submissions in a folder of grades: a later run uses it again, and so do parts that start together.
pub fn kept_seed(out: &Path, given: Option<u64>) -> Result<u64> {
    let path = out.join(".seed");
    if let Some(seed) = given {
        fs::write(&path, seed.to_string())?;
        return Ok(seed);
    }
    let new = out.join(format!(".seed-{}-{}", std::process::id(), seed()));
    fs::write(&new, seed().to_string())?;
    // The first part wins. A link appears with its whole content.
    let linked = fs::hard_link(&new, &path);
    fs::remove_file(&new)?;
    match linked {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => fs::write(&path, seed().to_string())?,
        _ => {}
    }
    let text = fs::read_to_string(&path)?;
    text.trim().parse().with_context(|| {
        format!(
            "{} contains no seed: delete it, and grade all again",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_submission_is_in_one_part() {
        let part = |text: &str| Some(text.parse().unwrap());
        let class = || (0..5).collect::<Vec<_>>();
        assert_eq!(of(part("1/2"), class()), [0, 2, 4]);
        assert_eq!(of(part("2/2"), class()), [1, 3]);
        assert_eq!(of(part("7/7"), class()), [] as [usize; 0]);
        assert_eq!(of(None, class()), class());
        for wrong in ["", "2", "0/2", "3/2", "1/0", "a/b", "-1/2"] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn parts_that_start_together_have_one_seed() {
        let folder = tempfile::tempdir().unwrap();
        let seeds: Vec<u64> = std::thread::scope(|scope| {
            let each = || kept_seed(folder.path(), None).unwrap();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(each)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(seeds.iter().all(|s| *s == seeds[0]), "{seeds:?}");
        assert_eq!(kept_seed(folder.path(), Some(7)).unwrap(), 7);
        assert_eq!(kept_seed(folder.path(), None).unwrap(), 7);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
