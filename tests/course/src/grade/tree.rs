//! Copies of the course in which submissions are built: the sources as they were handed out, and a target folder in
//! which everything but the lessons is built.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use grader::paths;
use walkdir::WalkDir;

use crate::{lessons, version};

/// Folders and files that a workspace consists of.
const SOURCES: [&str; 7] = [
    "data",
    "exercises",
    "lessons",
    "solutions",
    "tests",
    "Cargo.toml",
    "Cargo.lock",
];

/// A copy of the course.
pub struct Tree {
    folder: PathBuf,
}

impl Tree {
    /// Copies the sources in `root` with the stubs of all lessons, and what is built in `debug` with one of `hashes` in
    /// its name.
    pub fn of_course(folder: PathBuf, root: &Path, debug: &Path, hashes: &BTreeSet<String>) -> Result<Self> {
        let tree = Self { folder };
        tree.copy_sources(root)?;
        for lesson in lessons::all(root)? {
            tree.put_source(
                &lesson.manifest.lesson,
                &[("lib.rs", lesson.stubs.as_str())].into(),
            )?;
        }
        for part in ["deps", "build", ".fingerprint"] {
            let needed = |name: &str| hash(name).is_some_and(|hash| hashes.contains(hash));
            copy_built(&debug.join(part), &tree.target().join("debug").join(part), needed)?;
        }
        Ok(tree)
    }

    /// A copy of this tree, without what was built of exercises.
    pub fn copy(&self, folder: PathBuf) -> Result<Self> {
        let tree = Self { folder };
        tree.copy_sources(&self.course())?;
        for part in ["deps", "build", ".fingerprint"] {
            let part = Path::new("debug").join(part);
            copy_built(&self.target().join(&part), &tree.target().join(&part), |name| {
                !links_exercise(name)
            })?;
        }
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
        for from in SOURCES.map(|name| version::files(&root.join(name))) {
            for from in from? {
                copy(&from, &self.course().join(version::name(root, &from)))?;
            }
        }
        Ok(())
    }

    /// Empties every source that is not compiled again, after the stubs were built: a submission could include it, and
    /// some have the answers. Cargo knows by the times that none has changed. What stays are the manifests and the
    /// programs of the checks, which are linked with each exercise.
    pub fn empty_sources(&self) -> Result<()> {
        for path in version::files(&self.course())? {
            let stays = ["Cargo.toml", "Cargo.lock", "run/src/grade.rs"];
            if !stays.iter().any(|name| path.ends_with(name)) {
                // The old file may be read-only.
                let changed = fs::metadata(&path)?.modified()?;
                fs::remove_file(&path)?;
                File::create(&path)?.set_modified(changed)?;
            }
        }
        Ok(())
    }

    /// Replaces the sources of an exercise. Its package and its lesson are built again next time.
    pub fn put_source(&self, lesson: &str, files: &BTreeMap<&str, &str>) -> Result<()> {
        let library = self.course().join(paths::exercises(lesson));
        let source = library.parent().context("the folder of lib.rs")?;
        let _ = fs::remove_dir_all(source);
        for (path, text) in files {
            let path = source.join(path);
            fs::create_dir_all(path.parent().unwrap_or(source))?;
            fs::write(&path, text).with_context(|| path.display().to_string())?;
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

/// The hash in the name of what cargo builds: `libserde-cc3658a86fcc1348.rlib`, `serde-39ab11d9eb0225f8`.
pub fn hash(name: &str) -> Option<&str> {
    let hash = name.rsplit_once('-')?.1.get(..16)?;
    hash.bytes().all(|b| b.is_ascii_hexdigit()).then_some(hash)
}

/// Whether a file or folder in a target folder belongs to an exercise, or to a program that links it.
fn links_exercise(name: &str) -> bool {
    let numbered = |package| {
        let rest: Option<&str> = name.strip_prefix(package);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    ["exercise", "libexercise", "grade", "lesson"]
        .into_iter()
        .any(numbered)
        && !name.contains("-checks-")
}

/// Copies what is in `from` under names for which `needed` is true, if it exists. Libraries get a hard link: compilers
/// replace such files, and do not write into them.
fn copy_built(from: &Path, to: &Path, needed: impl Fn(&str) -> bool) -> Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    let is_needed =
        |entry: &walkdir::DirEntry| entry.depth() != 1 || needed(&entry.file_name().to_string_lossy());
    for entry in WalkDir::new(from).into_iter().filter_entry(is_needed) {
        let entry = entry?;
        let path = to.join(entry.path().strip_prefix(from)?);
        let library = entry
            .path()
            .extension()
            .is_some_and(|e| e == "rlib" || e == "rmeta" || e == "so");
        if entry.file_type().is_dir() {
            fs::create_dir_all(&path)?;
        // Hard links do not work across file systems, and some have none.
        } else if !library || fs::hard_link(entry.path(), &path).is_err() {
            copy(entry.path(), &path)?;
        }
    }
    Ok(())
}

/// Copies a file with its time of change.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let all = || -> io::Result<()> {
        fs::create_dir_all(to.parent().unwrap_or(to))?;
        fs::copy(from, to)?;
        File::open(to)?.set_modified(fs::metadata(from)?.modified()?)
    };
    all().with_context(|| format!("{} cannot be copied to {}", from.display(), to.display()))
}
