//! A submission: the sources of exercises, in the archive that `cargo course pack` writes, or in a folder. An archive
//! is not trusted: sizes are counted while it is read, and nothing is unpacked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::Result;
use flate2::{Compression, GzBuilder, bufread::MultiGzDecoder};
use grader::{grades::Status, paths};
use tar::EntryType;
use toml::Table;
use walkdir::WalkDir;

use crate::{
    late,
    marks::clean,
    version::{digest, name, sha256},
};

/// Maximum sizes in bytes of a file and of all files, and maximum number of files.
const FILE_BYTES: u64 = 1 << 20;
const ALL_BYTES: usize = 4 << 20;
const FILES: usize = 64;
/// Maximum size of the unpacked content of an archive in bytes.
const UNPACKED: u64 = 256 << 20;
/// Maximum number of left-out files that are listed.
const LISTED: usize = 50;
/// The file beside the exercises. A student can change it: of the mark, only lateness depends on it.
const ABOUT: &str = "submission.toml";
const ENDINGS: [&str; 4] = [".tar.gz", ".tgz", ".tar", ".gz"];

/// The files of a submission that may be handed in.
#[derive(Debug, Default)]
pub struct Submission {
    /// When it was packed, by the student's clock, in seconds since 1970.
    pub packed: Option<u64>,
    /// The text of each `exercises/lessonNN/src/**.rs` and `**.cu`, and the same of the capstone with its `config.toml`.
    pub files: BTreeMap<String, String>,
    /// What was left out, and why.
    pub left_out: BTreeSet<String>,
}

/// Why there is nothing to grade: the status and the reason.
#[derive(Debug)]
pub struct Rejected(pub Status, pub String);

impl<E: Into<io::Error>> From<E> for Rejected {
    fn from(error: E) -> Self {
        unreadable(format!("it is damaged: {}", error.into()))
    }
}

fn unreadable(why: impl ToString) -> Rejected {
    Rejected(
        Status::Unreadable,
        format!("could not be read, because {}", clean::line(&why.to_string())),
    )
}

/// Whether a folder contains `exercises`, as the course and an unpacked archive do.
pub fn is_layout(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join("exercises")).is_ok_and(|meta| meta.is_dir())
}

/// The name of a file or a folder.
pub fn name_of(path: &Path) -> String {
    name(path.parent().unwrap_or(path), path)
}

/// The name without the ending of an archive, if it has one: `anna` of `anna.tar.GZ`.
pub fn stem(name: &str) -> Option<&str> {
    let lower = name.to_lowercase();
    let ending = ENDINGS.iter().find(|ending| lower.ends_with(**ending))?;
    name.get(..name.len() - ending.len())
}

impl Submission {
    /// Reads an archive or a folder. A folder without `exercises` contains an archive or a folder, as Moodle's do.
    ///
    /// # Errors
    /// Returns why there is nothing to grade.
    pub fn read(path: &Path) -> Result<Self, Rejected> {
        let mut all = Self::default();
        let path = only(path)?;
        let kind = fs::symlink_metadata(&path)?.file_type();
        if kind.is_file() {
            all.archive(BufReader::new(File::open(path)?))?;
        } else if kind.is_dir() {
            all.folder(&path, ABOUT)?;
            all.folder(&path, "exercises")?;
        }
        if all.files.is_empty() {
            let why = "there is no exercises/lessonNN/src/lib.rs in it; hand in the file that `cargo course pack` writes";
            let left_out = all.left_out.iter().take(3).map(|line| format!("; {line}"));
            return Err(unreadable(why.to_owned() + &left_out.collect::<String>()));
        }
        Ok(all)
    }

    /// Takes the files below `within` in the folder `root`. Does nothing if it does not exist.
    pub fn folder(&mut self, root: &Path, within: &str) -> Result<(), Rejected> {
        let path = root.join(within);
        if fs::symlink_metadata(&path).is_err() {
            return Ok(());
        }
        for entry in WalkDir::new(path).follow_root_links(false).sort_by_file_name() {
            let entry = entry?;
            let (path, kind) = (name(root, entry.path()), entry.file_type());
            if kind.is_file() {
                self.offer(&path, || File::open(entry.path()))?;
            } else if !kind.is_dir() {
                self.leave_out(
                    &path,
                    if kind.is_symlink() {
                        "a link"
                    } else {
                        "not a plain file"
                    },
                );
            }
        }
        Ok(())
    }

    /// Takes the files of an archive. Its first bytes say whether it is compressed: some browsers unpack `.tar.gz` to a
    /// tar of the same name.
    fn archive(&mut self, mut from: impl BufRead) -> Result<(), Rejected> {
        let tar: Box<dyn Read> = match from.fill_buf()? {
            [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(from)),
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
            return Err(Rejected(
                Status::Refused,
                "it unpacks to more than 256 MiB".into(),
            ));
        }
        read
    }

    fn entries(&mut self, archive: &mut tar::Archive<impl Read>) -> Result<(), Rejected> {
        for entry in archive.entries()? {
            let entry = entry?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let path = path.strip_prefix("./").unwrap_or(&path);
            match entry.header().entry_type() {
                EntryType::Regular | EntryType::Continuous => self.offer(path, || Ok(entry))?,
                EntryType::Directory | EntryType::XGlobalHeader => {}
                EntryType::Symlink | EntryType::Link => self.leave_out(path, "a link"),
                _ => self.leave_out(path, "not a plain file"),
            }
        }
        Ok(())
    }

    /// Takes a file, or leaves it out.
    fn offer<R: Read>(&mut self, path: &str, open: impl FnOnce() -> io::Result<R>) -> Result<(), Rejected> {
        if path != ABOUT && !is_source(path) {
            self.leave_out(path, "only **.rs and **.cu in exercises/lessonNN/src are taken");
            return Ok(());
        }
        let mut bytes = Vec::new();
        open()?.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > FILE_BYTES {
            self.leave_out(path, "it is larger than 1 MiB");
            return Ok(());
        }
        let Ok(text) = String::from_utf8(bytes) else {
            self.leave_out(path, "it is not UTF-8 text");
            return Ok(());
        };
        if path == ABOUT {
            let about: Table = text.parse().unwrap_or_default();
            self.packed = about
                .get("packed")
                .and_then(|time| late::instant(time.as_str()?).ok());
        } else if self.files.contains_key(path) {
            self.leave_out(path, "it occurs twice; the first one counts");
        } else {
            self.files.insert(path.to_owned(), text);
        }
        let bytes: usize = self.files.values().map(String::len).sum();
        if self.files.len() > FILES || bytes > ALL_BYTES {
            let why = format!("it has more than {FILES} source files, or more than 4 MiB of them");
            return Err(Rejected(Status::Refused, why));
        }
        Ok(())
    }

    fn leave_out(&mut self, path: &str, why: &str) {
        let line = format!("{}: {why}", clean::cut(path, 200));
        match self.left_out.len() {
            0..LISTED => self.left_out.insert(line),
            _ => self.left_out.insert("… and more".into()),
        };
    }

    /// The lessons (`01`) of which it has files.
    pub fn lessons(&self) -> BTreeSet<String> {
        let numbered = |path: &String| Some(path.strip_prefix("exercises/lesson")?[..2].to_owned());
        self.files.keys().filter_map(numbered).collect()
    }

    /// The files of a lesson by their path below `src`.
    pub fn of_lesson(&self, lesson: &str) -> BTreeMap<&str, &str> {
        let folder = format!("exercises/{}/src/", paths::folder(lesson));
        let files = self.files.iter();
        files
            .filter_map(|(path, text)| Some((path.strip_prefix(&folder)?, text.as_str())))
            .collect()
    }

    /// SHA-256 of all files.
    pub fn digest(&self) -> String {
        let files = self.files.iter();
        digest(
            files
                .map(|(path, text)| (path.clone(), sha256(text.as_bytes())))
                .collect(),
        )
    }

    /// The archive: `submission.toml` and the files, without times, owners and modes of this machine.
    pub fn to_archive(&self) -> Result<Vec<u8>> {
        let gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        let mut tar = tar::Builder::new(gzip);
        let packed = self
            .packed
            .map(|time| format!("packed = \"{}\"\n", late::rfc3339(time)));
        let about = (ABOUT.to_owned(), packed.unwrap_or_default());
        for (path, text) in [(&about.0, &about.1)].into_iter().chain(&self.files) {
            let mut head = tar::Header::new_ustar();
            head.set_size(text.len() as u64);
            head.set_mode(0o644);
            head.set_mtime(0);
            tar.append_data(&mut head, path, text.as_bytes())?;
        }
        Ok(tar.into_inner()?.finish()?)
    }
}

/// `path`, or what a student put into it: the only archive or folder with `exercises` in a folder without.
fn only(path: &Path) -> Result<PathBuf, Rejected> {
    if !path.is_dir() || is_layout(path) {
        return Ok(path.to_owned());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        let name = name_of(&path);
        if !name.starts_with('.') && (is_layout(&path) || stem(&name).is_some()) {
            found.push(path);
        }
    }
    match &found[..] {
        [one] => Ok(one.to_owned()),
        more => Err(unreadable(format!(
            "it has {} archives or folders with exercises; hand in only the file that `cargo course pack` writes",
            more.len()
        ))),
    }
}

/// Whether a path is `exercises/lessonNN/src/**.rs` or `**.cu`, with the names that modules of a library can have. So no file can
/// have the name of a folder, and no name is too long for a file system. The capstone also has settings.
fn is_source(path: &str) -> bool {
    let name = path.strip_suffix(".rs").or(path.strip_suffix(".cu"));
    let inside = name.and_then(|name| name.strip_prefix("exercises/")?.split_once("/src/"));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let is_number = |lesson: &str| lesson.len() == 2 && lesson.bytes().all(|b| b.is_ascii_digit());
    let is_settings = path == "exercises/capstone/src/config.toml";
    is_settings
        || inside.is_some_and(|(lesson, module)| {
            let known = lesson == paths::CAPSTONE || lesson.strip_prefix("lesson").is_some_and(is_number);
            let library = module != "main" && !module.starts_with("bin/") && module.len() <= 200;
            let mut parts = module.split('/');
            known && library && parts.all(|part| !part.is_empty() && part.chars().all(is_plain))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::put;

    const SOURCE: &str = "exercises/lesson01/src/lib.rs";

    /// Reads a folder with these files.
    fn read(files: &[(&str, &[u8])]) -> Result<Submission, Rejected> {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            put(&dir.path().join(name), bytes).unwrap();
        }
        Submission::read(dir.path())
    }

    #[test]
    fn archives_and_folders_are_read() {
        let unpacked: [(&str, &[u8]); 3] = [
            (ABOUT, b"packed = \"2026-11-20T22:00:00Z\""),
            (SOURCE, b"// one"),
            ("exercises/lesson02/src/a/b.cu", b""),
        ];
        let first = read(&unpacked).unwrap();
        let archive = first.to_archive().unwrap();
        let mut tar = Vec::new();
        MultiGzDecoder::new(&*archive).read_to_end(&mut tar).unwrap();
        for (name, bytes) in [("submission (1).tar.gz", &archive), ("submission.tar", &tar)] {
            let one = read(&[(name, bytes), (".DS_Store", b""), ("notes.txt", b"")]).unwrap();
            assert_eq!((&one.files, one.digest()), (&first.files, first.digest()));
            assert_eq!(one.packed, late::instant("2026-11-20T22:00:00Z").ok());
            assert_eq!(Vec::from_iter(one.lessons()), ["01", "02"]);
            assert_eq!(Vec::from_iter(one.of_lesson("02")), [("a/b.cu", "")]);
            assert_eq!(one.to_archive().unwrap(), archive);
        }
    }

    #[test]
    fn nothing_but_sources_is_taken() {
        for path in [
            "lessons/lesson01/src/lib.rs",
            "ada/exercises/lesson01/src/lib.rs",
            "exercises/lesson01/src/../x.rs",
            "/exercises/lesson01/src/lib.rs",
            "exercises//lesson01/src/lib.rs",
            "exercises/lesson01/src//x.rs",
            "exercises/lesson01/src/bin/x.rs",
            "exercises/lesson01/src/main.rs",
            "exercises/lesson01/src/x.txt",
            "exercises/lesson01/src/x.cuh",
            "exercises/lesson01/build.rs",
            "exercises/lesson01/src/config.toml",
            "exercises/lesson1/src/x.rs",
            "exercises/other/src/x.rs",
            "exercises/lesson01/src/li\u{0}b.rs",
            "exercises/lesson01/src/a.rs/b.rs",
            "exercises/lesson01/src/.rs",
            &format!("exercises/lesson01/src/{}.rs", "x".repeat(201)),
            "",
        ] {
            assert!(!is_source(path), "{path:?}");
        }
        let large = vec![b' '; FILE_BYTES as usize + 1];
        let taken = read(&[
            (SOURCE, b""),
            ("exercises/lesson01/src/large.rs", &large),
            ("exercises/lesson01/src/odd.rs", b"\xff"),
            ("exercises/lesson01/Cargo.toml", b""),
            ("lessons/x", b""),
        ]);
        assert_eq!(taken.unwrap().left_out.len(), 3);
    }

    #[test]
    fn the_reason_says_what_to_do() {
        for (files, why) in [
            (&[("x.tar.gz", &b"PK\x03\x04"[..])][..], "cargo course pack"),
            (&[("x.tgz", b"\x1f\x8b")], "it is damaged: "),
            (&[("a.txt", b"")], "it has 0 archives"),
            (&[("a.tgz", b""), ("b.tgz", b"")], "it has 2 archives"),
            (
                &[("exercises/lesson01/lib.rs", b"")],
                "exercises/lesson01/lib.rs: only",
            ),
        ] {
            let Rejected(_, text) = read(files).unwrap_err();
            assert!(text.contains(why), "{text}");
        }
    }
}
