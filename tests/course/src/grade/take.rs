//! What is taken out of a submission: the lessons' Rust files, and nothing else. Whatever an archive says of itself is
//! not believed: sizes are counted while it is read.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs,
    io::{self, Read},
    path::Path,
    time::UNIX_EPOCH,
};

use anyhow::{Context, Result, anyhow};

use super::{
    Clock,
    named::Submission,
    placed::{Place, placed},
};
use crate::{
    late::instant,
    submission::{ALL_BYTES, FILE_BYTES as FILE, FILES, Submission as Paper, digest, sha256},
};

const ALL: usize = ALL_BYTES as usize;
/// Entries that are looked at, and bytes that an archive may unpack to before it is refused.
const ENTRIES: usize = 10_000;
const UNPACKED: u64 = 256 << 20;
/// How many are named of what is left out.
const NAMED: usize = 50;

/// What was taken from it.
#[derive(Debug, Default)]
pub struct Taken {
    /// Of each lesson (`01`), its files by their path below `src`.
    pub lessons: BTreeMap<String, BTreeMap<String, String>>,
    /// What was not taken, and why.
    pub left_out: Vec<String>,
    /// The text of its `submission.toml`.
    pub paper: Option<String>,
    /// Seconds since 1970.
    pub changed: Option<u64>,
    more_left_out: usize,
    entries: usize,
    files: usize,
    bytes: usize,
}

/// Why nothing was taken.
#[derive(Debug)]
pub enum Not {
    /// Damaged, or nothing in it.
    Readable(String),
    /// It breaks a rule.
    Allowed(String),
}

/// What an entry is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    File,
    Folder,
    Other(&'static str),
}

impl Submission {
    /// Takes what may be taken. With `lesson`, files of a bare `src` are that lesson's.
    pub fn take(&self, lesson: Option<&str>) -> Result<Taken, Not> {
        let mut taken = Taken::default();
        let unreadable = |e: anyhow::Error| Not::Readable(format!("it cannot be read: {e:#}"));
        let meta = fs::symlink_metadata(&self.path).map_err(|e| unreadable(e.into()))?;
        taken.changed = meta
            .modified()
            .ok()
            .and_then(|t| Some(t.duration_since(UNIX_EPOCH).ok()?.as_secs()));
        let name = self.path.to_string_lossy().into_owned();
        let read = if meta.is_dir() {
            taken.folder(&self.path, "", lesson)
        } else if meta.is_file() {
            let file = || fs::File::open(&self.path).map_err(|e| unreadable(e.into()));
            match name.rsplit('.').next() {
                Some("zip") => taken.zip(file()?, lesson),
                Some("tar") => taken.tar(file()?, lesson),
                Some("gz" | "tgz") => taken.tar(flate2::read::GzDecoder::new(file()?), lesson),
                _ => Err(anyhow!(
                    "it is neither a folder nor a .tar, .tar.gz, .tgz or .zip"
                )),
            }
        } else {
            Err(anyhow!("it is neither a folder nor a file"))
        };
        match read {
            Ok(()) => {}
            Err(error) if error.downcast_ref::<TooMuch>().is_some() => {
                return Err(Not::Allowed(error.to_string()));
            }
            Err(error) => return Err(unreadable(error)),
        }
        if taken.more_left_out > 0 {
            taken.left_out.push(format!("and {} more", taken.more_left_out));
        }
        Ok(taken)
    }
}

/// More than a submission may hold.
#[derive(Debug)]
struct TooMuch(String);

impl std::fmt::Display for TooMuch {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TooMuch {}

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

    /// When it came, in seconds since 1970.
    pub fn submitted(&self, clock: Clock) -> Option<u64> {
        let paper: Option<Paper> = self.paper.as_ref().and_then(|text| toml::from_str(text).ok());
        let packed = paper.and_then(|p| instant(&p.packed).ok());
        packed.filter(|_| clock == Clock::Packed).or(self.changed)
    }

    fn leave_out(&mut self, path: &str, why: &str) {
        let path: String = path
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .take(200)
            .collect();
        if self.left_out.len() < NAMED {
            self.left_out.push(format!("{path}: {why}"));
        } else {
            self.more_left_out += 1;
        }
    }

    fn folder(&mut self, folder: &Path, within: &str, lesson: Option<&str>) -> Result<()> {
        let mut entries: Vec<_> = fs::read_dir(folder)
            .with_context(|| folder.display().to_string())?
            .collect::<io::Result<_>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{within}{name}");
            let kind = entry.file_type()?;
            let kind = match kind {
                k if k.is_dir() => Kind::Folder,
                k if k.is_file() => Kind::File,
                k if k.is_symlink() => Kind::Other("a link"),
                _ => Kind::Other("not a plain file"),
            };
            if kind == Kind::Folder {
                self.count()?;
                // A build's own folder may be large and holds nothing to take.
                if path.matches('/').count() > 12 || ["target", ".git"].contains(&&*name) {
                    self.leave_out(&path, "only src/**.rs of a lesson is taken");
                } else {
                    self.folder(&entry.path(), &format!("{path}/"), lesson)?;
                }
            } else {
                let open = || Ok(Box::new(fs::File::open(entry.path())?) as Box<dyn Read>);
                self.offer(&path, kind, open, lesson)?;
            }
        }
        Ok(())
    }

    fn tar(&mut self, file: impl Read, lesson: Option<&str>) -> Result<()> {
        let mut archive = tar::Archive::new(Counted {
            from: file,
            left: UNPACKED,
        });
        for entry in archive.entries().map_err(told)? {
            let mut entry = entry.map_err(told)?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let kind = match entry.header().entry_type() {
                tar::EntryType::Regular | tar::EntryType::Continuous => Kind::File,
                tar::EntryType::Directory => Kind::Folder,
                tar::EntryType::Symlink | tar::EntryType::Link => Kind::Other("a link"),
                tar::EntryType::XGlobalHeader => continue,
                _ => Kind::Other("not a plain file"),
            };
            self.offer(&path, kind, || Ok(Box::new(&mut entry) as Box<dyn Read>), lesson)?;
        }
        Ok(())
    }

    fn zip(&mut self, file: fs::File, lesson: Option<&str>) -> Result<()> {
        let mut archive = zip::ZipArchive::new(file)?;
        for index in 0..archive.len() {
            let entry = archive.by_index(index)?;
            let path = entry.name()?.into_owned();
            // The upper half of the mode says what a Unix file is.
            let kind = match entry.unix_mode().map(|m| m & 0o170_000) {
                _ if entry.is_dir() => Kind::Folder,
                Some(0o120_000) => Kind::Other("a link"),
                Some(0 | 0o100_000) | None => Kind::File,
                Some(_) => Kind::Other("not a plain file"),
            };
            self.offer(&path, kind, || Ok(Box::new(entry) as Box<dyn Read>), lesson)?;
        }
        Ok(())
    }

    fn count(&mut self) -> Result<()> {
        self.entries += 1;
        if self.entries > ENTRIES {
            return Err(TooMuch(format!("it has more than {ENTRIES} entries")).into());
        }
        Ok(())
    }

    fn within(&self) -> Result<()> {
        if self.files > FILES || self.bytes > ALL {
            let why = format!(
                "it has more than {FILES} Rust files, or more than {} MiB of them",
                ALL >> 20
            );
            return Err(TooMuch(why).into());
        }
        Ok(())
    }

    /// Takes an entry, or leaves it out.
    fn offer<'a>(
        &mut self,
        path: &str,
        kind: Kind,
        open: impl FnOnce() -> io::Result<Box<dyn Read + 'a>>,
        lesson: Option<&str>,
    ) -> Result<()> {
        self.count()?;
        if kind == Kind::Folder {
            return Ok(());
        }
        let place = match placed(path, lesson) {
            Ok(place) => place,
            Err(why) => {
                self.leave_out(path, why);
                return Ok(());
            }
        };
        if let Kind::Other(what) = kind {
            self.leave_out(path, what);
            return Ok(());
        }
        let text = match read(open()?)? {
            Ok(text) => text,
            Err(why) => {
                // It was read up to there.
                self.bytes += FILE as usize;
                self.leave_out(path, &why);
                return self.within();
            }
        };
        self.files += 1;
        self.bytes += text.len();
        if self.files > FILES || self.bytes > ALL {
            let why = format!(
                "it has more than {FILES} Rust files, or more than {} MiB of them",
                ALL >> 20
            );
            return Err(TooMuch(why).into());
        }
        match place {
            Place::Paper => self.paper = Some(text),
            Place::Source(lesson, file) => match self.lessons.entry(lesson).or_default().entry(file) {
                Entry::Vacant(free) => {
                    free.insert(text);
                }
                Entry::Occupied(_) => self.leave_out(path, "it is in there twice; the first counts"),
            },
        }
        Ok(())
    }
}

/// The text of a file, or why it is not taken.
fn read(from: impl Read) -> Result<Result<String, String>> {
    let mut bytes = Vec::new();
    from.take(FILE + 1).read_to_end(&mut bytes).map_err(told)?;
    if bytes.len() as u64 > FILE {
        return Ok(Err(format!("it is larger than {} MiB", FILE >> 20)));
    }
    Ok(String::from_utf8(bytes).map_err(|_| "it is not UTF-8".into()))
}

/// Keeps our own error, which went through a reader's.
fn told(error: io::Error) -> anyhow::Error {
    match error.get_ref().is_some_and(|e| e.is::<TooMuch>()) {
        true => TooMuch(error.to_string()).into(),
        false => error.into(),
    }
}

/// Ends with [`TooMuch`] after so many bytes.
struct Counted<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::other(TooMuch(format!("it unpacks to more than {} MiB", UNPACKED >> 20)))
        })?;
        Ok(count)
    }
}
