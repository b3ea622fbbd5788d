//! Takes the files of a submission: an archive that `cargo course pack` wrote, or the folder that it unpacks to. Only the Rust
//! sources of the exercises are taken. An archive is not trusted: sizes are counted while it is read, and nothing is unpacked.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use tar::EntryType;

use super::{Clock, caught::caught};
use crate::{
    late::instant,
    marks::clean,
    submission::{ALL_BYTES, FILE_BYTES, FILES, Submission as Paper, digest, sha256},
};

/// Maximum size of the unpacked content of an archive in bytes, and maximum number of left-out entries that are listed.
const UNPACKED: u64 = 256 << 20;
const LISTED: usize = 50;
/// Maximum length of the name of an archive's entry.
const LONG: usize = 4096;
/// The file that `cargo course pack` writes beside the exercises.
const PAPER: &str = "submission.toml";
/// How many folders may enclose the exercises in a folder.
const DEEP: usize = 4;

/// The files of a lesson by their path below `src`.
pub type Files = BTreeMap<String, String>;

/// What was taken from a submission.
#[derive(Debug, Default)]
pub struct Taken {
    /// The files of each lesson (`01`).
    pub lessons: BTreeMap<String, Files>,
    /// What was not taken, and why.
    pub left_out: Vec<String>,
    /// When it was packed, by the student's clock, in seconds since 1970.
    packed: Option<u64>,
    /// The date of the newest file.
    newest: Option<u64>,
    more_left_out: usize,
    files: usize,
    bytes: u64,
}

/// Why nothing was taken.
#[derive(Debug, PartialEq)]
pub enum Rejected {
    /// It is damaged, or contains nothing to grade.
    Unreadable(String),
    /// It breaks a rule.
    Refused(String),
}

impl From<io::Error> for Rejected {
    fn from(error: io::Error) -> Self {
        unreadable(&error.to_string())
    }
}

fn unreadable(why: &str) -> Rejected {
    Rejected::Unreadable(why.to_owned())
}

/// The name of a file or a folder.
pub fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Whether a folder contains `exercises`, as the course and an unpacked archive do.
pub fn is_layout(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join("exercises")).is_ok_and(|meta| meta.is_dir())
}

/// Takes the files that may be taken from the archive or the folder among `paths`. A folder without `exercises` may contain
/// an archive or a folder, too.
///
/// # Errors
/// Returns why there is nothing to grade.
pub fn take(paths: &[PathBuf]) -> Result<Taken, Rejected> {
    let read = || {
        let mut taken = Taken::default();
        Ok(taken.one_of(paths.to_vec(), DEEP).map(|()| taken))
    };
    let read = caught(read).unwrap_or_else(|panic| Err(unreadable(&panic.to_string())));
    read.and_then(Taken::checked).map_err(|why| match why {
        Rejected::Unreadable(why) => unreadable(&format!("could not be read, because {}", clean::line(&why))),
        refused => refused,
    })
}

impl Taken {
    fn read(&mut self, path: &Path, deep: usize) -> Result<(), Rejected> {
        let meta = fs::symlink_metadata(path)?;
        if meta.is_file() {
            self.date(&meta);
            return self.archive(BufReader::new(File::open(path)?));
        }
        if !meta.is_dir() {
            return Err(unreadable("it is neither a folder nor a file"));
        }
        if is_layout(path) {
            let paper = path.join(PAPER);
            if fs::symlink_metadata(&paper).is_ok() {
                self.offer_file(&paper, PAPER)?;
            }
            return self.folder(&path.join("exercises"), "exercises");
        }
        let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
        let mut entries: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
        entries.retain(|path| !name_of(path).starts_with('.') && name_of(path) != "__MACOSX");
        entries.sort();
        self.one_of(entries, deep)
    }

    /// Reads the only path. If there are several, reads the archive or the folder among them.
    fn one_of(&mut self, mut paths: Vec<PathBuf>, deep: usize) -> Result<(), Rejected> {
        if paths.len() > 1 {
            let is_archive = |path: &Path| {
                let name = name_of(path).to_lowercase();
                [".tar.gz", ".tgz", ".tar", ".gz"]
                    .iter()
                    .any(|e| name.ends_with(e))
            };
            let (may, others): (Vec<_>, Vec<_>) = paths
                .into_iter()
                .partition(|path| path.is_dir() || is_archive(path));
            for path in if may.len() == 1 { &others[..] } else { &[] } {
                self.leave_out(&name_of(path), "only the archive beside it is read");
            }
            if may.len() != 1 {
                let names: Vec<String> = may
                    .iter()
                    .chain(&others)
                    .take(4)
                    .map(|path| name_of(path))
                    .collect();
                return Err(unreadable(&format!(
                    "it has {} files and folders ({}, …); hand in only the file that `cargo course pack` writes",
                    may.len() + others.len(),
                    names.join(", ")
                )));
            }
            paths = may;
        }
        match paths.pop() {
            Some(only) if deep > 0 => self.read(&only, deep - 1),
            // The caller says what is missing.
            _ => Ok(()),
        }
    }

    /// Reads the folder `from`, whose path in the submission is `within`.
    fn folder(&mut self, from: &Path, within: &str) -> Result<(), Rejected> {
        let mut entries: Vec<_> = fs::read_dir(from)?.collect::<io::Result<_>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{within}/{name}");
            let built = name == "target" && !within.contains("/src");
            if !entry.file_type()?.is_dir() {
                self.offer_file(&entry.path(), &path)?;
            } else if name.starts_with('.') || built || path.matches('/').count() > 8 {
                self.leave_out(&path, "not read");
            } else {
                self.folder(&entry.path(), &path)?;
            }
        }
        Ok(())
    }

    /// Takes the entry `path` of a folder, if it is a file that may be taken.
    fn offer_file(&mut self, file: &Path, path: &str) -> Result<(), Rejected> {
        let meta = fs::symlink_metadata(file)?;
        if !meta.is_file() {
            let why = if meta.is_symlink() {
                "a link"
            } else {
                "not a plain file"
            };
            self.leave_out(path, why);
        } else if let Err(why) = placed(path) {
            self.leave_out(path, why);
        } else {
            self.date(&meta);
            self.offer(path, File::open(file)?)?;
        }
        Ok(())
    }

    /// Reads an archive. Its first bytes say whether it is compressed: some browsers unpack `.tar.gz` to a tar of the same name.
    fn archive(&mut self, mut from: impl BufRead) -> Result<(), Rejected> {
        let tar: Box<dyn Read> = match from.fill_buf()? {
            [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(from)),
            head if head.get(257..262) == Some(b"ustar") => Box::new(from),
            _ => {
                return Err(unreadable(
                    "it is not a .tar.gz; hand in the file that `cargo course pack` writes",
                ));
            }
        };
        let mut archive = tar::Archive::new(tar.take(UNPACKED));
        let read = self.entries(&mut archive);
        if archive.into_inner().limit() == 0 {
            let most = UNPACKED >> 20;
            return Err(Rejected::Refused(format!("it unpacks to more than {most} MiB")));
        }
        read.map_err(|why| match why {
            Rejected::Unreadable(why) => unreadable(&format!("the archive is damaged: {why}")),
            refused => refused,
        })
    }

    fn entries(&mut self, archive: &mut tar::Archive<impl Read>) -> Result<(), Rejected> {
        for entry in archive.entries()? {
            let entry = entry?;
            let path = entry.path_bytes();
            if path.len() > LONG {
                self.leave_out("an entry", "its name is too long");
                continue;
            }
            let path = String::from_utf8_lossy(&path).into_owned();
            match entry.header().entry_type() {
                EntryType::Regular | EntryType::Continuous => self.offer(&path, entry)?,
                EntryType::Directory | EntryType::XGlobalHeader => {}
                EntryType::Symlink | EntryType::Link => self.leave_out(&path, "a link"),
                _ => self.leave_out(&path, "not a plain file"),
            }
        }
        Ok(())
    }

    /// Takes a file, or leaves it out.
    fn offer(&mut self, path: &str, content: impl Read) -> Result<(), Rejected> {
        let path = path.strip_prefix("./").unwrap_or(path);
        let place = match placed(path) {
            Ok(place) => place,
            Err(why) => {
                self.leave_out(path, why);
                return Ok(());
            }
        };
        let mut bytes = Vec::new();
        content.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
        if place.is_some() {
            self.files += 1;
            self.bytes += bytes.len() as u64;
        }
        if self.files > FILES || self.bytes > ALL_BYTES {
            let most = ALL_BYTES >> 20;
            return Err(Rejected::Refused(format!(
                "it has more than {FILES} Rust files, or more than {most} MiB of them"
            )));
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) if text.len() as u64 <= FILE_BYTES => text,
            Ok(_) => {
                self.leave_out(path, "it is larger than 1 MiB");
                return Ok(());
            }
            Err(_) => {
                self.leave_out(path, "it is not UTF-8 text");
                return Ok(());
            }
        };
        let Some((lesson, file)) = place else {
            let paper: Option<Paper> = toml::from_str(&text).ok();
            self.packed = paper.and_then(|p| instant(&p.packed).ok());
            return Ok(());
        };
        match self
            .lessons
            .entry(lesson.to_owned())
            .or_default()
            .entry(file.to_owned())
        {
            Entry::Vacant(free) => {
                free.insert(text);
            }
            Entry::Occupied(_) => self.leave_out(path, "it occurs twice; the first one counts"),
        }
        Ok(())
    }

    /// Leaves an entry out, which is reported once.
    fn leave_out(&mut self, path: &str, why: &str) {
        let line = format!("{}: {why}", clean::cut(path, 200));
        if self.left_out.len() >= LISTED {
            self.more_left_out += 1;
        } else if !self.left_out.contains(&line) {
            self.left_out.push(line);
        }
    }

    /// What was taken, unless it is nothing.
    fn checked(mut self) -> Result<Self, Rejected> {
        if self.lessons.is_empty() {
            let why = "there is no exercises/lessonNN/src/lib.rs in it; hand in the file that `cargo course pack` writes";
            let first = self.left_out.iter().take(3).map(|line| format!("; {line}"));
            return Err(unreadable(&(why.to_owned() + &first.collect::<String>())));
        }
        if self.more_left_out > 0 {
            self.left_out.push(format!("and {} more", self.more_left_out));
        }
        Ok(self)
    }

    fn date(&mut self, meta: &fs::Metadata) {
        let changed = meta
            .modified()
            .ok()
            .and_then(|t| t.duration_since(UNIX_EPOCH).ok());
        self.newest = self.newest.max(changed.map(|t| t.as_secs()));
    }

    /// SHA-256 of all files that were taken, as `cargo course pack` computes it.
    pub fn digest(&self) -> String {
        let mut files = Vec::new();
        for (lesson, texts) in &self.lessons {
            files.extend(texts.iter().map(|(path, text)| {
                (
                    format!("exercises/lesson{lesson}/src/{path}"),
                    sha256(text.as_bytes()),
                )
            }));
        }
        digest(files.iter().map(|(path, sum)| (&**path, &**sum)))
    }

    /// When it was handed in, and the source of that time.
    pub fn dated(&self, clock: Clock) -> Option<(u64, &'static str)> {
        match clock {
            Clock::Roster => None,
            Clock::Packed => Some((self.packed?, "the student's clock when it was packed")),
            Clock::File => Some((self.newest?, "the date of the file")),
        }
    }
}

/// The lesson of a file, and its path below `src`; nothing for `submission.toml`.
///
/// # Errors
/// Returns why it is left out.
fn placed(path: &str) -> Result<Option<(&str, &str)>, &'static str> {
    if path == PAPER {
        return Ok(None);
    }
    let place = path
        .strip_prefix("exercises/lesson")
        .and_then(|rest| rest.split_once("/src/"));
    let two_digits = |lesson: &str| lesson.len() == 2 && lesson.bytes().all(|b| b.is_ascii_digit());
    match place {
        Some((lesson, file)) if two_digits(lesson) && file.ends_with(".rs") => {
            let plain = |part: &str| {
                !["", ".", ".."].contains(&part)
                    && part
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
            };
            match () {
                () if !file.split('/').all(plain) => Err("its name is odd: no module has such a name"),
                () if file == "main.rs" || file.starts_with("bin/") => {
                    Err("only modules of a library are taken")
                }
                () => Ok(Some((lesson, file))),
            }
        }
        _ => Err("only exercises/lessonNN/src/**.rs is taken"),
    }
}

#[cfg(test)]
#[path = "tests/sources.rs"]
mod tests;
