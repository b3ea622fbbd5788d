//! Copies of the course in which submissions are built: the sources as they were handed out, and a target folder in which
//! everything but the lessons is built.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use grader::paths;

use crate::{lessons, version};

/// Folders and files that a workspace consists of.
const FOLDERS: [&str; 5] = ["data", "exercises", "lessons", "solutions", "tests"];
const FILES: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// A copy of the course.
pub struct Tree {
    folder: PathBuf,
}

/// How a file of a target folder is copied.
enum Take {
    /// As a hard link: compilers replace such files, and do not write into them.
    Link,
    Copy,
    Leave,
}

impl Tree {
    /// Copies the sources in `root` with the stubs of all lessons, and what is built in `target`.
    pub fn copy_course(&self, root: &Path, target: &Path) -> Result<()> {
        self.copy_sources(root)?;
        for lesson in lessons::all(root)? {
            self.put_source(&lesson.manifest.lesson, [("lib.rs", lesson.stubs.as_str())])?;
        }
        for part in ["deps", "build", ".fingerprint"] {
            let part = Path::new("debug").join(part);
            mirror(&target.join(&part), &self.target().join(&part), &|path| {
                let library = path
                    .extension()
                    .is_some_and(|e| e == "rlib" || e == "rmeta" || e == "so");
                let program =
                    path.extension().is_none() && path.parent().is_some_and(|p| p.ends_with("deps"));
                match () {
                    () if program || is_of_a_student(path) => Take::Leave,
                    () if library => Take::Link,
                    () => Take::Copy,
                }
            })?;
        }
        Ok(())
    }

    /// A copy of `base`, without what was built of students' code.
    pub fn of_tree(folder: PathBuf, base: &Self) -> Result<Self> {
        let tree = Self::empty(folder)?;
        tree.copy_sources(&base.course())?;
        mirror(
            &base.target(),
            &tree.target(),
            &|path| match is_of_a_student(path) {
                true => Take::Leave,
                false => Take::Link,
            },
        )?;
        Ok(tree)
    }

    /// A tree without files.
    pub fn empty(folder: PathBuf) -> Result<Self> {
        let tree = Self { folder };
        fs::create_dir_all(tree.target()).with_context(|| tree.target().display().to_string())?;
        Ok(tree)
    }

    /// The root of the workspace.
    pub fn course(&self) -> PathBuf {
        self.folder.join("course")
    }

    /// Cargo's target folder.
    pub fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    /// The scratch folder of programs.
    pub fn scratch(&self) -> PathBuf {
        self.folder.join("scratch")
    }

    /// Copies the sources, with their times, by which cargo knows that they have not changed.
    fn copy_sources(&self, root: &Path) -> Result<()> {
        let mut files: Vec<PathBuf> = FILES.iter().map(|name| root.join(name)).collect();
        for folder in FOLDERS {
            version::walk(&root.join(folder), &mut files)?;
        }
        for from in files {
            copy(&from, &self.course().join(version::name(root, &from)))?;
        }
        Ok(())
    }

    /// Empties every source that is not compiled again, after the stubs were built: a submission could include it, and some
    /// have the answers. Cargo knows by the times that none has changed. What stays are the manifests and the programs of
    /// the checks, which are linked with each exercise.
    pub fn empty_sources(&self) -> Result<()> {
        let mut files = Vec::new();
        for folder in FOLDERS {
            version::walk(&self.course().join(folder), &mut files)?;
        }
        for path in files {
            let stays = path.ends_with("Cargo.toml") || path.ends_with("run/src/grade.rs");
            if !stays {
                empty(&path).with_context(|| format!("{} cannot be emptied", path.display()))?;
            }
        }
        Ok(())
    }

    /// Replaces the sources of an exercise. Its package and its lesson are built again next time.
    pub fn put_source<'a>(
        &self,
        lesson: &str,
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<()> {
        let library = self.course().join(paths::exercises(lesson));
        let source = library.parent().context("the folder of lib.rs")?;
        let _ = fs::remove_dir_all(source);
        for (path, text) in files {
            write(&source.join(path), text)?;
        }
        for folder in ["debug/.fingerprint", "debug/incremental"] {
            for entry in fs::read_dir(self.target().join(folder)).into_iter().flatten() {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_of = |package: &str| name.starts_with(&format!("{package}{lesson}-"));
                let runner = is_of("lesson") && !name.contains("-checks-");
                // The incremental data of the lesson's programs is kept, because it makes the next build faster.
                if is_of("exercise") || folder.ends_with("print") && runner {
                    fs::remove_dir_all(entry.path())?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a file in a target folder belongs to an exercise, or to a program that links it.
fn is_of_a_student(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let numbered = |package: &str| {
        let rest = name.strip_prefix(package);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    ["exercise", "libexercise", "grade", "lesson"]
        .into_iter()
        .any(numbered)
        && !name.contains("-checks-")
}

fn write(path: &Path, text: &str) -> Result<()> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, text))
        .with_context(|| path.display().to_string())
}

/// Puts an empty file in the place of a file, with its time of change. The old one may be read-only.
fn empty(path: &Path) -> std::io::Result<()> {
    let changed = fs::metadata(path)?.modified()?;
    fs::remove_file(path)?;
    fs::File::create(path)?.set_modified(changed)
}

/// Copies a file with its time of change.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let all = || {
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::copy(from, to)?;
        let changed = fs::metadata(from)?.modified()?;
        fs::File::open(to)?.set_modified(changed)
    };
    all().with_context(|| format!("{} cannot be copied to {}", from.display(), to.display()))
}

/// Copies a folder; `take` decides on each file. A folder that does not exist is empty.
fn mirror(from: &Path, to: &Path, take: &impl Fn(&Path) -> Take) -> Result<()> {
    let Ok(entries) = fs::read_dir(from) else {
        return Ok(());
    };
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    for entry in entries {
        let entry = entry.with_context(|| from.display().to_string())?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            if !matches!(take(&from), Take::Leave) {
                mirror(&from, &to, take)?;
            }
            continue;
        }
        match take(&from) {
            Take::Leave => {}
            // Hard links do not work across file systems, and some have none.
            Take::Link if fs::hard_link(&from, &to).is_ok() => {}
            _ => copy(&from, &to)?,
        }
    }
    Ok(())
}
