//! Which submissions the arguments name.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::placed::lesson_of;

/// A submission that stands to be graded.
#[derive(Clone, Debug)]
pub struct Submission {
    pub name: String,
    pub path: PathBuf,
}

/// All submissions that the arguments name: a folder that holds no lesson is a folder of submissions.
pub fn submissions(given: &[PathBuf]) -> Result<Vec<Submission>> {
    let mut found: Vec<Submission> = Vec::new();
    for path in given {
        let path = fs::canonicalize(path).with_context(|| format!("{} is not there", path.display()))?;
        if path.is_dir() && !holds_lesson(&path) {
            let mut entries: Vec<PathBuf> = fs::read_dir(&path)
                .with_context(|| path.display().to_string())?
                .filter_map(|e| Some(e.ok()?.path()))
                .filter(|p| {
                    !p.file_name()
                        .is_some_and(|n| n.to_string_lossy().starts_with('.'))
                })
                .collect();
            entries.sort();
            found.extend(entries.into_iter().map(Submission::new));
        } else {
            found.push(Submission::new(path));
        }
    }
    // Two of the same name would share a folder of results.
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for one in &mut found {
        let count = names.entry(one.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            one.name = format!("{}~{count}", one.name);
        }
    }
    Ok(found)
}

fn holds_lesson(folder: &Path) -> bool {
    let lesson = |folder: &Path| {
        let names = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let mut names = names.map(|e| e.file_name().to_string_lossy().into_owned());
        names.any(|n| lesson_of(&n).is_some())
    };
    lesson(folder)
        || lesson(&folder.join("exercises"))
        || folder.join("src").is_dir()
        || folder.join("submission.toml").is_file()
}

impl Submission {
    fn new(path: PathBuf) -> Self {
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let stem = [".tar.gz", ".tgz", ".tar", ".zip"]
            .iter()
            .find_map(|e| file.strip_suffix(e))
            .unwrap_or(&file);
        // It becomes a folder's name, and a cell of a table.
        let clean = |c: char| {
            if c.is_control() || "/\\:".contains(c) {
                '_'
            } else {
                c
            }
        };
        let name: String = stem.chars().map(clean).take(100).collect();
        // Names with a dot before them are the grader's own.
        let name = match name.strip_prefix('.') {
            Some(rest) => format!("_{rest}"),
            None => name,
        };
        Self { name, path }
    }
}
