//! Finds the submissions that the arguments name, and their owners.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use grader::grades::{Grade, Origin, Student};

use super::{
    Clock,
    archive::{self, Kind, is_archive, stem},
    caught::caught,
    placed::{Place, is_build, is_litter, lesson_of, placed},
    platform::{self, Owner},
    skipped::no_submission,
};
use crate::marks;

/// Bytes of a file, and of all files, in an archive of a whole class.
const FILE: u64 = 256 << 20;
const ALL: u64 = 4 << 30;
/// Gradescope's list of the submissions of an export.
const METADATA: &str = "submission_metadata.yml";

/// A submission to grade.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    /// Name of its folder in the folder of grades.
    pub name: String,
    /// Its file or folder; several files if the platform does not put them into a folder.
    pub paths: Vec<PathBuf>,
    pub student: Student,
    /// When the platform says that it was handed in, in seconds since 1970.
    pub time: Option<u64>,
    /// Whether the platform says that it is late.
    pub late: bool,
}

impl Submission {
    fn new(path: PathBuf, owner: Owner) -> Self {
        Self {
            name: owner.name,
            paths: vec![path],
            student: owner.student,
            time: owner.time,
            late: owner.late,
        }
    }

    /// Sets the owner and the time of submission in the grade. `dated` is the time found in the files, and its source.
    pub fn sign(&self, grade: &mut Grade, dated: Option<(u64, &str)>, clock: Clock) {
        // The platform's time is known even if no file could be taken.
        let platform = self
            .time
            .filter(|_| clock != Clock::File)
            .map(|time| (time, "the platform"));
        let dated = dated.or(platform);
        grade.submitted = dated.map(|(time, _)| time);
        grade.origin = Origin {
            student: self.student.clone(),
            dated: dated.map_or("", |(_, whose)| whose).to_owned(),
            late: self.late,
            late_unknown: None,
        };
    }
}

/// All submissions that the arguments name. A folder of submissions may be within other folders, and may be an archive,
/// which is unpacked into `unpacked`. `out` is not a submission, wherever it is. `skipped` gets a line for each entry of
/// a class that is not a submission.
///
/// # Errors
/// Returns an error if a path does not exist or cannot be read.
pub fn submissions(
    given: &[PathBuf],
    out: &Path,
    unpacked: &Path,
    skipped: &mut BTreeSet<String>,
) -> Result<Vec<Submission>> {
    let paths = given.iter().map(|path| {
        let path = fs::canonicalize(path).with_context(|| format!("{} does not exist", path.display()))?;
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok((name, path))
    });
    let given: Vec<(String, PathBuf)> = paths.collect::<Result<_>>()?;
    let several = |path: &Path| is_download(path, out) || (path.is_dir() && !is_one(path));
    let all_several = given.iter().all(|(_, path)| several(path));
    let mut all = Vec::new();
    for (_, path) in given {
        if all_several || (path.is_dir() && !is_one(&path)) {
            all.extend(class(&path, out, unpacked, skipped)?);
        } else {
            let owner = owner_by_path(&path);
            all.push(Submission::new(path, owner));
        }
    }
    ensure!(!all.is_empty(), "the given paths contain no submission");
    distinguish(&mut all);
    Ok(all)
}

/// The owner of a path on the command line.
fn owner_by_path(path: &Path) -> Owner {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let own = || Owner {
        name: stem(&name).to_owned(),
        ..Owner::default()
    };
    platform::autograder(path)
        .or_else(|| platform::moodle(&name))
        .or_else(|| platform::canvas(&name).map(|(owner, _)| owner))
        .unwrap_or_else(own)
}

/// The entries of a folder without those that are not submissions, for which `skipped` gets a line.
fn entries(folder: &Path, out: &Path, skipped: &mut BTreeSet<String>) -> Result<Vec<(String, PathBuf)>> {
    let listed = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut entries = Vec::new();
    for entry in listed {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        match no_submission(&name, &path, out) {
            None => entries.push((name, path)),
            Some(why) => {
                skipped.insert(format!("{}, because {why}", path.display()));
            }
        }
    }
    entries.sort();
    Ok(entries)
}

/// Whether a folder is a submission, and not a folder of submissions.
fn is_one(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let names = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let names: BTreeSet<String> = names
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    let own = ["exercises", "src", "lib.rs", "submission.toml", ".git"];
    names
        .iter()
        .any(|n| own.contains(&&**n) || lesson_of(n).is_some() || n.contains('\\'))
        || platform::moodle(&name).is_some()
        || (name == "submission" && platform::autograder(folder).is_some())
}

/// Whether a folder is a submission, or contains nothing but one, perhaps within other folders.
fn leads_to_one(folder: &Path, out: &Path) -> bool {
    if is_one(folder) {
        return true;
    }
    match entries(folder, out, &mut BTreeSet::new()).as_deref() {
        Ok([(name, only)]) => only.is_dir() && leads_to_one(only, out) || is_archive(name),
        _ => false,
    }
}

/// Whether a path is a platform's download, perhaps within other folders, or an archive of a class. A student can hand in
/// what looks like one, with the names of others: it counts only among others of its kind.
fn is_download(path: &Path, out: &Path) -> bool {
    if path.is_file() {
        return is_class_archive(path);
    }
    let platforms = |n: &str| {
        platform::moodle(n).is_some()
            || (platform::canvas(n).is_some() && (is_archive(n) || n.ends_with(".rs")))
    };
    let all = entries(path, out, &mut BTreeSet::new()).unwrap_or_default();
    // One clone in a folder may be what a student handed in.
    let clones = path.to_string_lossy().ends_with("-submissions");
    let named = clones || path.join(METADATA).is_file();
    !is_one(path)
        && match &all[..] {
            _ if named || all.iter().any(|(n, _)| platforms(n)) => true,
            [(_, only)] if only.is_dir() => is_download(only, out),
            _ => false,
        }
}

/// The submissions of a folder, or of an archive of a class.
fn class(
    folder: &Path,
    out: &Path,
    unpacked: &Path,
    skipped: &mut BTreeSet<String>,
) -> Result<Vec<Submission>> {
    if folder.is_file() {
        let number = fs::read_dir(unpacked).map_or(0, Iterator::count);
        let into = unpacked.join(number.to_string());
        let mut within = BTreeSet::new();
        unpack(folder, &into, &mut within).with_context(|| folder.display().to_string())?;
        let all = class(&into, out, unpacked, &mut within)?;
        let [inside, archive] = [&into, folder].map(|path| path.display().to_string());
        skipped.extend(within.iter().map(|line| line.replace(&inside, &archive)));
        return Ok(all);
    }
    let all = entries(folder, out, skipped)?;
    // Downloads of several platforms may be in one folder.
    if !all.is_empty() && all.iter().all(|(_, path)| is_download(path, out)) {
        let each = all.iter().map(|(_, path)| class(path, out, unpacked, skipped));
        return Ok(each.collect::<Result<Vec<_>>>()?.concat());
    }
    if let [(_, only)] = &all[..]
        && only.is_dir()
        && !leads_to_one(only, out)
    {
        return class(only, out, unpacked, skipped);
    }
    let metadata = folder.join(METADATA);
    let gradescope = match fs::read_to_string(&metadata) {
        Ok(text) => {
            platform::gradescope(&text).with_context(|| format!("{} cannot be read", metadata.display()))?
        }
        Err(_) => BTreeMap::new(),
    };
    let clones = all.iter().filter(|(_, path)| path.join(".git").exists());
    let clones: Vec<String> = clones.map(|(name, _)| name.clone()).collect();
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let github = platform::github(&name, &clones);
    // Numbers of files are unique in Canvas: if they are not, the names only look like Canvas'.
    let canvas: Vec<Option<(Owner, u64)>> = all.iter().map(|(name, _)| platform::canvas(name)).collect();
    let numbers: Vec<u64> = canvas.iter().flatten().map(|(_, file)| *file).collect();
    let canvas_named = numbers.iter().collect::<BTreeSet<_>>().len() == numbers.len();
    let mut owned: Vec<Submission> = Vec::new();
    let (mut gradescope, mut github) = (gradescope, github);
    for ((name, path), canvas) in all.into_iter().zip(canvas) {
        let canvas = canvas
            .filter(|_| canvas_named && path.is_file())
            .map(|(owner, _)| owner);
        let shared = platform::moodle(&name).or(canvas);
        if let Some(owner) = shared {
            match owned
                .iter_mut()
                .find(|s| s.name == owner.name && s.student == owner.student)
            {
                Some(known) => known.paths.push(path),
                None => owned.push(Submission::new(path, owner)),
            }
            continue;
        }
        let owner = gradescope.remove(&name).or_else(|| github.remove(&name));
        let own = || {
            let name = if path.is_dir() { &name } else { stem(&name) };
            Owner {
                name: name.to_owned(),
                ..Owner::default()
            }
        };
        let owner = owner.unwrap_or_else(own);
        owned.push(Submission::new(path, owner));
    }
    for name in gradescope.into_keys() {
        let path = folder.join(name);
        skipped.insert(format!("{}, because only {METADATA} has it", path.display()));
    }
    Ok(owned)
}

/// Whether an archive is one of several submissions: a platform's, or with exercises in several folders.
fn is_class_archive(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(file) = fs::File::open(path).ok().filter(|_| is_archive(&name)) else {
        return false;
    };
    let (mut platforms, mut roots) = (false, BTreeSet::new());
    let visit = |entry: archive::Entry, _: &mut dyn Read| {
        let mut parts = entry.path.split('/');
        let last = entry.path.rsplit('/').next().unwrap_or_default().to_lowercase();
        platforms |= parts.any(|p| platform::moodle(p).is_some())
            || last == METADATA
            || (platform::canvas(&last).is_some() && (is_archive(&last) || last.ends_with(".rs")));
        if let Ok(Place::Source { root, .. }) = placed(&entry.path) {
            roots.insert(root);
        } else if is_archive(&last) && !last.contains("lesson") && !last.starts_with('.') {
            roots.insert(entry.path.clone());
        }
        Ok(())
    };
    let read = caught(|| archive::entries(file, visit));
    read.is_ok() && (platforms || roots.len() > 1)
}

/// Unpacks an archive of a class: plain files only, none outside of `into`. Their folders are created even if no file in
/// them is taken, so that no submission disappears; `skipped` gets a line for everything else.
fn unpack(path: &Path, into: &Path, skipped: &mut BTreeSet<String>) -> Result<()> {
    fs::create_dir_all(into)?;
    let mut left = ALL;
    archive::entries(fs::File::open(path)?, |entry, content| {
        let parts: Vec<&str> = entry
            .path
            .split('/')
            .filter(|p| !p.is_empty() && *p != ".")
            .collect();
        let mut skip = |parts: &[&str], why: &str| {
            let name = into.join(parts.join("/"));
            skipped.insert(format!("{}, because {why}", name.display()));
            Ok(())
        };
        let Some((_, folders)) = parts.split_last() else {
            return Ok(());
        };
        if parts.contains(&"..") {
            return skip(&parts, "its path leaves the archive");
        }
        if let Some(at) = parts.iter().position(|p| is_litter(p) || is_build(p)) {
            fs::create_dir_all(into.join(parts[..at].join("/")))?;
            return skip(&parts[..=at], "a program or a file manager wrote it");
        }
        let to = into.join(parts.join("/"));
        let is_folder = entry.kind == Kind::Folder;
        fs::create_dir_all(if is_folder {
            to.clone()
        } else {
            into.join(folders.join("/"))
        })?;
        match entry.kind {
            Kind::File => {}
            Kind::Folder => return Ok(()),
            Kind::Other(what) => return skip(&parts, &format!("it is {what}")),
        }
        let most = FILE.min(left);
        let mut file = fs::File::create_new(&to)?;
        let written = std::io::copy(&mut content.take(most + 1), &mut file)?;
        ensure!(written <= most, "{} is too large", entry.path);
        left -= written;
        Ok(())
    })
}

/// Gives each submission a unique name, which can be the name of a folder, also where upper and lower case are the same.
fn distinguish(all: &mut [Submission]) {
    let mut used = BTreeSet::new();
    for one in all {
        let name = folder_name(&one.name);
        let numbered = (2..).map(|n| format!("{name}~{n}"));
        let free = std::iter::once(name.clone())
            .chain(numbered)
            .find(|n| !used.contains(&n.to_lowercase()));
        one.name = free.unwrap_or(name);
        used.insert(one.name.to_lowercase());
    }
}

/// A name of plain characters that differs from the names of our own files.
fn folder_name(raw: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || " -_.,()@'+=~&#".contains(c);
    let mut name: String = raw.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    while name.len() > 200 {
        name.pop();
    }
    let name = name.trim().trim_end_matches('.');
    // Names that begin with a dot are the grader's own, too.
    let own = name.is_empty() || name.starts_with('.') || marks::OWN.contains(&&*name.to_lowercase());
    if own {
        format!("_{}", name.trim_start_matches('.'))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
#[path = "tests/named.rs"]
mod tests;
