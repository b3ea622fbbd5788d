//! Downloads a file with `curl`, which resumes an earlier part, and checks its length and MD5 before it gets its name.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use md5::{Digest, Md5};

use crate::atomic;

/// Known properties of a file, which are checked.
#[derive(Clone, Copy, Debug)]
pub struct Expect<'a> {
    /// Its length in bytes.
    pub bytes: Option<u64>,
    /// Its MD5, in hex.
    pub md5: &'a str,
}

/// Bytes that must stay free on the disk.
const SPARE: u64 = 64 << 20;
/// Options of every download. curl shows its progress, and waits and retries by itself if a server is busy; a server that
/// sends nothing for a minute has failed.
const OPTIONS: &str = "--fail --location --show-error --progress-bar --continue-at - --retry 5 --connect-timeout 60 \
                       --speed-limit 1 --speed-time 60";
/// curl's exit code if a server cannot resume.
const NO_RANGES: i32 = 33;

/// Downloads `url` to `to`. The part so far is kept in `to` + `.part`; the next run resumes it.
///
/// # Errors
/// Returns an error if `to` has other content, curl fails, length or MD5 are wrong, the disk is full, or there is no `curl`:
/// then the error says how to download the file without it.
pub fn download(url: &str, to: &Path, expect: Expect) -> Result<()> {
    if to.exists() {
        return verify(to, expect)
            .with_context(|| format!("{} exists already; remove it to download it again", to.display()));
    }
    let folder = atomic::parent(to);
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let part = to.with_added_extension("part");
    let remove = || fs::remove_file(&part).with_context(|| format!("cannot remove {}", part.display()));
    let resumed = part.exists();
    // The part may be whole, if the last run was stopped at its end.
    if !part.exists() || verify(&part, expect).is_err() {
        check_space(folder, expect.bytes.unwrap_or(0).saturating_sub(length(&part)))?;
        if expect.bytes.is_some_and(|bytes| length(&part) >= bytes) {
            remove()?;
        }
        // As long as an attempt gets further, another one follows.
        loop {
            let before = length(&part);
            match curl(url, to, &part, expect)? {
                Some(0) => break,
                Some(NO_RANGES) if before > 0 => remove()?,
                _ => ensure!(
                    length(&part) > before,
                    "{url}: curl failed (its message is above); {before} bytes are kept in {}; run the command again to \
                     resume",
                    part.display()
                ),
            }
        }
    }
    if let Err(e) = verify(&part, expect) {
        remove()?;
        if resumed {
            // The part may be of an older version of the file: once more from the start.
            return download(url, to, expect);
        }
        return Err(e.context(format!(
            "{url}: the download is not the published file and was removed"
        )));
    }
    fs::rename(&part, to).with_context(|| format!("cannot rename {} to {}", part.display(), to.display()))
}

/// Runs curl, which appends the missing bytes to `part`. Returns its exit code.
fn curl(url: &str, to: &Path, part: &Path, expect: Expect) -> Result<Option<i32>> {
    // A server must not redirect to another protocol.
    let protocol = format!("={}", url.split(':').next().unwrap_or("https"));
    // 0: any length.
    let longest = expect.bytes.unwrap_or(0).to_string();
    let started = Command::new("curl")
        .args(OPTIONS.split_whitespace())
        .args(["--user-agent", concat!("canopy/", env!("CARGO_PKG_VERSION"))])
        .args([
            "--proto",
            &protocol,
            "--noproxy",
            "127.0.0.1",
            "--max-filesize",
            &longest,
        ])
        .args(["--url", url, "--output"])
        .arg(part)
        .status();
    match started {
        Err(e) if e.kind() == io::ErrorKind::NotFound => bail!(
            "there is no `curl`, which downloads the file: install it, or save {url} as {} in another way, such as\n  \
             wget --continue --output-document='{}' '{url}'\nand run this command again, which then checks the file",
            to.display(),
            to.display()
        ),
        status => Ok(status.context("cannot start curl")?.code()),
    }
}

/// Compares the file at `path` with its length and MD5.
///
/// # Errors
/// Names both values if they differ.
pub fn verify(path: &Path, expect: Expect) -> Result<()> {
    let at = path.display();
    let (found, bytes) = (length(path), expect.bytes);
    ensure!(
        bytes.is_none_or(|bytes| found == bytes),
        "{at}: {found} bytes, but the file has {}",
        bytes.unwrap_or(0)
    );
    let mut hash = Md5::new();
    let mut file = BufReader::with_capacity(1 << 18, File::open(path).with_context(|| at.to_string())?);
    loop {
        let bytes = file.fill_buf().with_context(|| at.to_string())?;
        if bytes.is_empty() {
            break;
        }
        hash.update(bytes);
        let read = bytes.len();
        file.consume(read);
    }
    let found: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    ensure!(
        found.eq_ignore_ascii_case(expect.md5),
        "{at}: its MD5 is {found}, published is {}",
        expect.md5
    );
    Ok(())
}

/// Checks that the disk of `folder`, which exists, has space for `bytes`.
pub(super) fn check_space(folder: &Path, bytes: u64) -> Result<()> {
    let free = fs4::available_space(folder).with_context(|| {
        format!(
            "{}: cannot determine the free space of its disk",
            folder.display()
        )
    })?;
    ensure!(
        free >= bytes + SPARE,
        "{}: {free} bytes free, {} needed; choose another disk with --out",
        folder.display(),
        bytes + SPARE
    );
    Ok(())
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |m| m.len())
}
