//! Reads a submission: folders, archives, and archives within them. It does not trust what an archive says
//! about itself: it counts sizes while it reads.

use std::{
    fs,
    io::{self, Cursor, Read},
    path::Path,
    time::UNIX_EPOCH,
};

use anyhow::{Context, Result, bail};

use super::{
    archive::{self, Kind, TooMuch, is_archive, own_error},
    bundle::Bundles,
    placed::{Left, is_build, is_litter, placed},
};
use crate::submission::{ALL_BYTES, FILE_BYTES as FILE, FILES};

const ALL: usize = ALL_BYTES as usize;
/// Maximum numbers of entries, of archives, and of bytes of an archive within another.
const ENTRIES: usize = 10_000;
const ARCHIVES: usize = 8;
const INNER: u64 = 64 << 20;

/// A submission while it is read.
#[derive(Default)]
pub struct Reader {
    pub bundles: Bundles,
    /// The newest file of the submission, in seconds since 1970.
    pub changed: Option<u64>,
    entries: usize,
    archives: usize,
    files: usize,
    bytes: usize,
}

impl Reader {
    /// Reads one of the files or folders of the submission; `several` is true if it has more than one.
    pub fn path(&mut self, path: &Path, several: bool) -> Result<()> {
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
            return self
                .archive(file, &within, 0)
                .map_err(|error| match error.is::<TooMuch>() {
                    true => error,
                    false => error.context(format!("{name} is damaged")),
                });
        }
        if name.to_lowercase().ends_with(".rs") {
            // The platform puts its own words before the name, so the name says nothing.
            return self.offer("lib.rs", Kind::File, None, &mut &file, 0);
        }
        self.leave_out(
            &name,
            "not a folder, a .rs file, or a .zip, .tar, .tar.gz or .tgz archive",
        );
        Ok(())
    }

    /// Reads a folder; of a clone of the course, only the exercises and `submission.toml`.
    fn folder(&mut self, folder: &Path, within: &str, clone: bool) -> Result<()> {
        let mut entries: Vec<_> = fs::read_dir(folder)
            .with_context(|| folder.display().to_string())?
            .collect::<io::Result<_>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            // Some programs leave backslashes in names when they unpack a zip from Windows.
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
            // An absolute path is outside of the archive, and so outside of the submission.
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
                self.leave_out(folder, "not read");
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
        // A file that is not taken counts, too, because it was read.
        self.bytes += text.as_ref().map_or(FILE as usize, String::len);
        if self.files > FILES || self.bytes > ALL {
            let most = ALL >> 20;
            let why = format!("it has more than {FILES} Rust files, or more than {most} MiB of them");
            return Err(TooMuch(why).into());
        }
        match text {
            Ok(text) => self.bundles.keep(path, place, text, date),
            Err(why) => self.leave_out(path, &why),
        }
        Ok(())
    }

    /// Reads an archive within the submission. A damaged one does not stop the others.
    fn inner(&mut self, path: &str, content: &mut dyn Read, depth: usize) -> Result<()> {
        if depth > 1 {
            self.leave_out(path, "too many nested archives");
            return Ok(());
        }
        let mut bytes = Vec::new();
        content
            .take(INNER + 1)
            .read_to_end(&mut bytes)
            .map_err(own_error)?;
        if bytes.len() as u64 > INNER {
            self.bundles
                .damage(format!("{path} is larger than {} MiB", INNER >> 20));
            return Ok(());
        }
        let within = format!("{path}/");
        match self.archive(Cursor::new(bytes), &within, depth + 1) {
            Err(error) if !error.is::<TooMuch>() => {
                self.bundles.forget(&within);
                self.bundles.damage(format!("{path} is damaged: {error:#}"));
                Ok(())
            }
            other => other,
        }
    }

    fn leave_out(&mut self, path: &str, why: &str) {
        self.bundles.leave_out(path, why);
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

/// The text of a file, or why it is not taken.
fn read(from: &mut dyn Read) -> Result<Result<String, String>> {
    let mut bytes = Vec::new();
    from.take(FILE + 1).read_to_end(&mut bytes).map_err(own_error)?;
    if bytes.len() as u64 > FILE {
        return Ok(Err(format!("it is larger than {} MiB", FILE >> 20)));
    }
    Ok(String::from_utf8(bytes).map_err(|_| "it is not UTF-8".into()))
}
