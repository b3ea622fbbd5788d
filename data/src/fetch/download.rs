//! Downloads a file with `curl`, which resumes an earlier part, and checks its length and MD5 before it gets its name.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
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
/// Interval at which the length of the part is reported.
const INTERVAL: Duration = Duration::from_millis(100);
/// Options of every download. curl waits and retries by itself if a server is busy; a server that sends nothing for a minute
/// has failed.
const OPTIONS: &str = "--fail --location --silent --show-error --continue-at - --retry 5 --connect-timeout 60 \
                       --speed-limit 1 --speed-time 60";
/// curl's exit code if a server cannot resume.
const NO_RANGES: i32 = 33;

/// Downloads `url` to `to`. The part so far is kept in `to` + `.part`; the next attempt or run resumes it.
/// `progress` is called with the bytes so far and in all (if known). Its error stops the download.
///
/// # Errors
/// Returns an error if `to` has other content, the server refuses, length or MD5 are wrong, the disk is full, or there is no
/// `curl`: then the error says how to download the file without it.
pub fn download(
    url: &str,
    to: &Path,
    expect: Expect,
    progress: &mut dyn FnMut(u64, Option<u64>) -> Result<()>,
) -> Result<()> {
    if to.exists() {
        return verify(to, expect)
            .with_context(|| format!("{} exists already; remove it to download it again", to.display()));
    }
    let folder = atomic::parent(to);
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let part = to.with_added_extension("part");
    let before = length(&part);
    check_space(folder, expect.bytes, before)?;
    // As long as an attempt gets further, another one follows.
    while expect.bytes.is_none_or(|bytes| length(&part) < bytes) {
        let before = length(&part);
        let (code, message) = attempt(url, to, &part, expect, progress)?;
        if code == Some(0) {
            break;
        }
        let now = length(&part);
        if code == Some(NO_RANGES) && now > 0 {
            remove(&part)?;
        } else if now <= before {
            bail!(
                "{url}: {message}; {now} bytes are kept in {}; run the command again to resume",
                part.display()
            );
        }
    }
    if let Err(e) = verify(&part, expect) {
        remove(&part)?;
        if before > 0 {
            // The part may be of an older version of the file: once more from the start.
            return download(url, to, expect, progress);
        }
        return Err(e.context(format!(
            "{url}: the download is not the published file and was removed"
        )));
    }
    fs::rename(&part, to).with_context(|| format!("cannot rename {} to {}", part.display(), to.display()))
}

/// Runs curl once, which appends the missing bytes to `part`. Returns its exit code and message.
fn attempt(
    url: &str,
    to: &Path,
    part: &Path,
    expect: Expect,
    progress: &mut dyn FnMut(u64, Option<u64>) -> Result<()>,
) -> Result<(Option<i32>, String)> {
    let mut curl = Command::new("curl");
    curl.args(OPTIONS.split_whitespace())
        .arg("--output")
        .arg(part)
        .args(["--user-agent", concat!("canopy/", env!("CARGO_PKG_VERSION"))])
        .args(["--noproxy", "127.0.0.1", "--url", url]);
    if url.starts_with("https:") {
        curl.args(["--proto", "=https"]);
    }
    if let Some(bytes) = expect.bytes {
        curl.args(["--max-filesize", &bytes.to_string()]);
    }
    curl.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = match curl.spawn() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => bail!(
            "there is no `curl`, which downloads the file: install it, or save {url} as {} in another way, such as\n  \
             wget --continue --output-document='{}' '{url}'\nand run this command again, which then checks the file",
            to.display(),
            to.display()
        ),
        started => started.context("cannot start curl")?,
    };
    let status = loop {
        let ended = child.try_wait().context("cannot wait for curl")?;
        if let Err(e) = progress(length(part), expect.bytes) {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
            return Err(e);
        }
        match ended {
            Some(status) => break status,
            None => thread::sleep(INTERVAL),
        }
    };
    let message = child.stderr.take().map(io::read_to_string).transpose();
    let message = message.context("curl's message")?.unwrap_or_default();
    Ok((status.code(), message.trim().replace('\n', "; ")))
}

/// Compares the file at `path` with its length and MD5.
///
/// # Errors
/// Names both values if they differ.
pub fn verify(path: &Path, expect: Expect) -> Result<()> {
    if let Some(bytes) = expect.bytes {
        let found = length(path);
        ensure!(
            found == bytes,
            "{}: {found} bytes, but the file has {bytes}",
            path.display()
        );
    }
    let mut file = File::open(path).with_context(|| path.display().to_string())?;
    let mut hash = Md5::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        let n = file
            .read(&mut buffer)
            .with_context(|| path.display().to_string())?;
        if n == 0 {
            break;
        }
        hash.update(&buffer[..n]);
    }
    let found: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    ensure!(
        found.eq_ignore_ascii_case(expect.md5),
        "{}: its MD5 is {found}, published is {}",
        path.display(),
        expect.md5
    );
    Ok(())
}

/// Bytes free for this user on the disk of `folder`, or of its first parent that exists.
///
/// # Errors
/// Names the folder if the system cannot say.
pub fn free_space(folder: &Path) -> Result<u64> {
    let absolute = std::path::absolute(folder).with_context(|| folder.display().to_string())?;
    let there = absolute
        .ancestors()
        .find(|p| p.exists())
        .unwrap_or(Path::new("."));
    fs4::available_space(there)
        .with_context(|| format!("{}: cannot determine the free space of its disk", there.display()))
}

/// Checks that `folder` has space for a file of `bytes`, of which it has `have` already.
pub(super) fn check_space(folder: &Path, bytes: Option<u64>, have: u64) -> Result<()> {
    let need = bytes.unwrap_or(0).saturating_sub(have) + SPARE;
    let free = free_space(folder)?;
    ensure!(
        free >= need,
        "{}: {free} bytes free, {need} needed; choose another disk with --out",
        folder.display()
    );
    Ok(())
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |m| m.len())
}

fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
}
