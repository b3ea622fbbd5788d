//! What is taken out of a submission: the lessons' Rust files, and nothing else. Whatever an archive says of itself is
//! not believed: sizes are counted while it is read.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs,
    io::{self, Cursor, Read},
    path::Path,
    time::UNIX_EPOCH,
};

use anyhow::{Context, Result, bail};

use super::{
    Clock,
    archive::{self, Kind, TooMuch, is_archive, told},
    named::Submission,
    placed::{Left, Place, is_build, is_litter, placed},
};
use crate::{
    late::instant,
    submission::{ALL_BYTES, FILE_BYTES as FILE, FILES, Submission as Paper, digest, sha256},
};

const ALL: usize = ALL_BYTES as usize;
/// Entries that are looked at, archives that are opened, and bytes of an archive within another.
const ENTRIES: usize = 10_000;
const ARCHIVES: usize = 8;
const INNER: u64 = 64 << 20;
/// How many are named of what is left out.
const NAMED: usize = 50;

/// The files of a lesson by their path below `src`.
type Files = BTreeMap<String, String>;

/// What was taken from it.
#[derive(Debug, Default)]
pub struct Taken {
    /// The files of each lesson (`01`).
    pub lessons: BTreeMap<String, Files>,
    /// What was not taken, and why.
    pub left_out: Vec<String>,
    /// Times in seconds since 1970, as far as they are known: by the platform, by `submission.toml`, of the newest source
    /// in an archive, of the newest file.
    times: [Option<u64>; 4],
}

/// Why nothing was taken.
#[derive(Debug)]
pub enum Not {
    /// Damaged, or nothing in it.
    Readable(String),
    /// It breaks a rule.
    Allowed(String),
}

/// Files that belong together, because one folder of one archive encloses them.
#[derive(Default)]
struct Bundle {
    lessons: BTreeMap<String, Files>,
    /// Files that do not say of which lesson they are.
    bare: Files,
    packed: Option<u64>,
    date: Option<u64>,
}

/// A submission while it is read.
#[derive(Default)]
struct Reader {
    bundles: BTreeMap<String, Bundle>,
    left_out: Vec<String>,
    more_left_out: usize,
    /// Why archives in it could not be read.
    damaged: Vec<String>,
    changed: Option<u64>,
    entries: usize,
    archives: usize,
    files: usize,
    bytes: usize,
}

impl Submission {
    /// Takes what may be taken. `lesson` is the lesson of files that do not say it themselves.
    ///
    /// # Errors
    /// Returns why there is nothing to grade.
    pub fn take(&self, lesson: Option<&str>) -> Result<Taken, Not> {
        let mut reader = Reader::default();
        for path in &self.paths {
            if let Err(error) = reader.path(path, self.paths.len() > 1) {
                return Err(match error.is::<TooMuch>() {
                    true => Not::Allowed(error.to_string()),
                    false => Not::Readable(unreadable(&format!("{error:#}"))),
                });
            }
        }
        let mut taken = reader
            .choose(lesson)
            .map_err(|why| Not::Readable(unreadable(&why)))?;
        taken.times[0] = self.time;
        Ok(taken)
    }
}

fn unreadable(why: &str) -> String {
    format!("could not be read, because {why}")
}

impl Taken {
    /// SHA-256 over all that was taken, as `cargo course pack` counts it.
    pub fn digest(&self) -> String {
        let mut files = Vec::new();
        for (lesson, texts) in &self.lessons {
            let sum = |(path, text): (&String, &String)| {
                (
                    format!("exercises/lesson{lesson}/src/{path}"),
                    sha256(text.as_bytes()),
                )
            };
            files.extend(texts.iter().map(sum));
        }
        digest(files.iter().map(|(path, sum)| (&**path, &**sum)))
    }

    /// When it was handed in, in seconds since 1970.
    pub fn submitted(&self, clock: Clock) -> Option<u64> {
        self.dated(clock).map(|(time, _)| time)
    }

    /// When it was handed in, and whose time that is.
    pub fn dated(&self, clock: Clock) -> Option<(u64, &'static str)> {
        let [platform, packed, archive, file] = self.times;
        let all = [
            (platform, "the platform"),
            (packed, "the student's clock when it was packed"),
            (archive, "the newest file in the archive"),
            (file, "the date of the file"),
        ];
        let may = match clock {
            Clock::Platform => &all[..1],
            Clock::Packed => &all[..3],
            Clock::File => &all[3..],
        };
        may.iter().find_map(|(time, whose)| Some(((*time)?, *whose)))
    }
}

impl Reader {
    /// Reads one of the files or folders of the submission; `several` if it has more than one.
    fn path(&mut self, path: &Path, several: bool) -> Result<()> {
        let meta = fs::symlink_metadata(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if meta.is_dir() {
            return self.folder(
                path,
                "",
                path.join(".git").exists() && path.join("exercises").is_dir(),
            );
        }
        if !meta.is_file() {
            bail!("it is neither a folder nor a file");
        }
        self.changed = self.changed.max(modified(&meta));
        let file = fs::File::open(path)?;
        if is_archive(&name) {
            let within = if several {
                format!("{name}/")
            } else {
                String::new()
            };
            return self.archive(file, &within, 0);
        }
        if name.to_lowercase().ends_with(".rs") {
            // The platform put words of its own before the name, so that it says nothing.
            return self.offer("lib.rs", Kind::File, None, &mut &file, 0);
        }
        self.leave_out(
            &name,
            "not a folder, a .rs file, or a .zip, .tar, .tar.gz or .tgz archive",
        );
        Ok(())
    }

    /// Reads a folder. Of a clone of the course, only the exercises are of interest.
    fn folder(&mut self, folder: &Path, within: &str, clone: bool) -> Result<()> {
        let mut entries: Vec<_> = fs::read_dir(folder)
            .with_context(|| folder.display().to_string())?
            .collect::<io::Result<_>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            // A program that unpacks zips of Windows wrongly leaves such names.
            let name = entry.file_name().to_string_lossy().replace('\\', "/");
            let path = format!("{within}{name}");
            let kind = entry.file_type()?;
            if clone && !["exercises", "submission.toml"].contains(&&*name) {
                continue;
            }
            if kind.is_dir() {
                self.count()?;
                let source = within.contains("/src/") || within.starts_with("src/");
                if is_litter(&name) {
                } else if path.matches('/').count() > 12 || (is_build(&name) && !source) {
                    self.leave_out(&path, "not read");
                } else {
                    self.folder(&entry.path(), &format!("{path}/"), false)?;
                }
                continue;
            }
            let kind = match kind {
                k if k.is_file() => Kind::File,
                k if k.is_symlink() => Kind::Other("a link"),
                _ => Kind::Other("not a plain file"),
            };
            let useful = is_archive(&name) || placed(&path).is_ok();
            if kind == Kind::File && useful {
                self.changed = self.changed.max(modified(&entry.metadata()?));
                self.offer(&path, kind, None, &mut fs::File::open(entry.path())?, 0)?;
            } else {
                self.offer(&path, kind, None, &mut io::empty(), 0)?;
            }
        }
        Ok(())
    }

    /// Reads an archive, whose entries get `within` before their paths; `depth` counts the archives around it.
    fn archive(&mut self, from: impl Read + io::Seek, within: &str, depth: usize) -> Result<()> {
        self.archives += 1;
        if self.archives > ARCHIVES {
            return Err(TooMuch(format!("it has more than {ARCHIVES} archives")).into());
        }
        archive::entries(from, |entry, content| {
            // What an archive says to be outside of itself is outside of the submission.
            let path = match entry.path.starts_with('/') {
                true => entry.path,
                false => format!("{within}{}", entry.path.strip_prefix("./").unwrap_or(&entry.path)),
            };
            self.offer(&path, entry.kind, entry.date, content, depth)
        })
    }

    /// Takes an entry, opens it as an archive, or leaves it out.
    fn offer(
        &mut self,
        path: &str,
        kind: Kind,
        date: Option<u64>,
        content: &mut dyn Read,
        depth: usize,
    ) -> Result<()> {
        if kind == Kind::Folder {
            return Ok(());
        }
        let place = match placed(path) {
            Err(Left::Silent) => return Ok(()),
            Err(Left::Below(folder)) => {
                let line = format!("{folder}: not read");
                if !self.left_out.contains(&line) {
                    self.leave_out(folder, "not read");
                }
                return Ok(());
            }
            Err(Left::Because(_)) if kind == Kind::File && is_archive(path) => {
                self.count()?;
                return self.inner(path, content, depth);
            }
            Err(Left::Because(why)) => {
                self.count()?;
                let rar = [".rar", ".7z", ".xz", ".bz2"]
                    .iter()
                    .any(|e| path.to_lowercase().ends_with(e));
                self.leave_out(
                    path,
                    if rar {
                        "only .zip, .tar, .tar.gz and .tgz are opened"
                    } else {
                        why
                    },
                );
                return Ok(());
            }
            Ok(place) => place,
        };
        self.count()?;
        if let Kind::Other(what) = kind {
            self.leave_out(path, what);
            return Ok(());
        }
        self.files += 1;
        let text = read(content)?;
        // What is not taken was read, too.
        self.bytes += text.as_ref().map_or(FILE as usize, String::len);
        if self.files > FILES || self.bytes > ALL {
            let most = ALL >> 20;
            let why = format!("it has more than {FILES} Rust files, or more than {most} MiB of them");
            return Err(TooMuch(why).into());
        }
        match text {
            Ok(text) => self.keep(path, place, text, date),
            Err(why) => self.leave_out(path, &why),
        }
        Ok(())
    }

    /// Reads an archive within the submission. A damaged one does not stop the others.
    fn inner(&mut self, path: &str, content: &mut dyn Read, depth: usize) -> Result<()> {
        if depth > 1 {
            self.leave_out(path, "too many archives in one another");
            return Ok(());
        }
        let mut bytes = Vec::new();
        content.take(INNER + 1).read_to_end(&mut bytes).map_err(told)?;
        if bytes.len() as u64 > INNER {
            self.damaged
                .push(format!("{path} is larger than {} MiB", INNER >> 20));
            return Ok(());
        }
        let within = format!("{path}/");
        match self.archive(Cursor::new(bytes), &within, depth + 1) {
            Err(error) if !error.is::<TooMuch>() => {
                self.bundles.retain(|root, _| !root.starts_with(&within));
                self.damaged.push(format!("{path} is damaged: {error:#}"));
                Ok(())
            }
            other => other,
        }
    }

    fn keep(&mut self, path: &str, place: Place, text: String, date: Option<u64>) {
        let (root, file, lesson) = match place {
            Place::Paper { root } => {
                let paper: Option<Paper> = toml::from_str(&text).ok();
                let packed = paper.and_then(|p| instant(&p.packed).ok());
                self.bundles.entry(root).or_default().packed = packed;
                return;
            }
            Place::Source { root, lesson, file } => (root, file, Some(lesson)),
            Place::Bare { root, file } => (root, file, None),
        };
        let bundle = self.bundles.entry(root).or_default();
        bundle.date = bundle.date.max(date);
        let files = match lesson {
            Some(lesson) => bundle.lessons.entry(lesson.to_owned()).or_default(),
            None => &mut bundle.bare,
        };
        match files.entry(file) {
            Entry::Vacant(free) => {
                free.insert(text);
            }
            Entry::Occupied(_) => self.leave_out(path, "it is in there twice; the first counts"),
        }
    }

    /// Chooses among what was read: of a lesson that is in there several times, the one that was packed last.
    fn choose(mut self, lesson: Option<&str>) -> Result<Taken, String> {
        self.place_bare(lesson);
        let mut taken = Taken::default();
        let mut found: BTreeMap<&String, Vec<(&String, &Bundle)>> = BTreeMap::new();
        for (root, bundle) in &self.bundles {
            for lesson in bundle.lessons.keys() {
                found.entry(lesson).or_default().push((root, bundle));
            }
        }
        for (lesson, mut from) in found {
            from.sort_by_key(|(_, bundle)| bundle.packed);
            let Some((last, older)) = from.split_last() else {
                continue;
            };
            let other = older
                .iter()
                .find(|(_, b)| b.lessons[lesson] != last.1.lessons[lesson]);
            if let Some(other) = other {
                if other.1.packed.is_none() || other.1.packed == last.1.packed {
                    let [a, b] =
                        [other.0, last.0].map(|root| if root.is_empty() { "its top folder" } else { root });
                    return Err(format!(
                        "lesson {lesson} is in it twice and differs, in {a} and in {b}, and neither says when it was packed"
                    ));
                }
                let line = format!(
                    "lesson {lesson} of {}: packed before the one that counts",
                    other.0
                );
                self.left_out.push(line);
            }
            taken.times[1] = taken.times[1].max(last.1.packed);
            taken.times[2] = taken.times[2].max(last.1.date);
            taken
                .lessons
                .insert(lesson.clone(), last.1.lessons[lesson].clone());
        }
        if taken.lessons.is_empty() {
            return Err(self.nothing());
        }
        let damaged = self.damaged.iter().map(|why| format!("{why} (another was read)"));
        taken.left_out = self
            .left_out
            .iter()
            .cloned()
            .chain(damaged)
            .map(|l| shown(&l))
            .collect();
        if self.more_left_out > 0 {
            taken.left_out.push(format!("and {} more", self.more_left_out));
        }
        taken.times[3] = self.changed;
        Ok(taken)
    }

    /// Gives files that do not say their lesson to the one that their first line or `lesson` names. They count only if there is
    /// nothing else, because a submission may contain other Rust files.
    fn place_bare(&mut self, lesson: Option<&str>) {
        let others = self.bundles.values().any(|b| !b.lessons.is_empty());
        for (root, bundle) in &mut self.bundles {
            let mut bare = std::mem::take(&mut bundle.bare);
            if bare.len() == 1
                && let Some((_, only)) = bare.pop_first()
            {
                bare.insert("lib.rs".into(), only);
            }
            let named = bare.get("lib.rs").and_then(|text| lesson_in(text)).or(lesson);
            match named {
                Some(named) if !others => {
                    bundle.lessons.insert(named.to_owned(), bare);
                }
                _ => {
                    let why = match others {
                        true => "only src/**.rs of a lesson is taken",
                        false => "it does not say of which lesson it is; name the lesson with --lesson",
                    };
                    let lines = bare.keys().map(|file| format!("{root}{file}: {why}"));
                    self.left_out.extend(lines);
                }
            }
        }
    }

    /// Why there is nothing to grade in it.
    fn nothing(&self) -> String {
        let mut why = self.damaged.clone();
        if why.is_empty() {
            why.push("there is no exercises/lessonNN/src/lib.rs in it".into());
            why.extend(self.left_out.iter().take(3).cloned());
        }
        shown(&why.join("; "))
    }

    fn leave_out(&mut self, path: &str, why: &str) {
        if self.left_out.len() < NAMED {
            let path: String = path.chars().take(200).collect();
            self.left_out.push(format!("{path}: {why}"));
        } else {
            self.more_left_out += 1;
        }
    }

    fn count(&mut self) -> Result<()> {
        self.entries += 1;
        match self.entries > ENTRIES {
            true => Err(TooMuch(format!("it has more than {ENTRIES} entries")).into()),
            false => Ok(()),
        }
    }
}

fn modified(meta: &fs::Metadata) -> Option<u64> {
    Some(meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// Printable text: names come from students.
fn shown(line: &str) -> String {
    crate::marks::clean::line(line)
}

/// The lesson that the stub's first comment names: `//! Lesson 01: …`.
fn lesson_in(text: &str) -> Option<&str> {
    let number = text
        .lines()
        .take(20)
        .find_map(|l| l.trim_start_matches('\u{feff}').strip_prefix("//! Lesson "))?;
    let number = number.get(..2)?;
    number.bytes().all(|b| b.is_ascii_digit()).then_some(number)
}

/// The text of a file, or why it is not taken.
fn read(from: &mut dyn Read) -> Result<Result<String, String>> {
    let mut bytes = Vec::new();
    from.take(FILE + 1).read_to_end(&mut bytes).map_err(told)?;
    if bytes.len() as u64 > FILE {
        return Ok(Err(format!("it is larger than {} MiB", FILE >> 20)));
    }
    Ok(String::from_utf8(bytes).map_err(|_| "it is not UTF-8".into()))
}

#[cfg(test)]
#[path = "tests/take.rs"]
mod tests;
