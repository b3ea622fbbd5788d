//! Downloads a file over HTTP: resumed from a `.part` file, checked by length and MD5, and renamed when complete.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use md5::{Digest, Md5};

/// Known properties of a file, which are checked.
#[derive(Clone, Copy, Debug)]
pub struct Expect<'a> {
    /// Its length in bytes.
    pub bytes: Option<u64>,
    /// Its MD5, in hex.
    pub md5: &'a str,
}

/// How often to retry, and how long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Consecutive attempts without a byte before giving up.
    pub attempts: u32,
    /// Wait after the first attempt; doubled each time, up to 30 s.
    pub wait: Duration,
    /// Timeout for a server that sends nothing.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempts: 6,
            wait: Duration::from_secs(1),
            silence: Duration::from_secs(60),
        }
    }
}

const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Bytes that must stay free on the disk.
const SPARE: u64 = 64 << 20;

/// Why an attempt ended.
enum Failure {
    /// A temporary failure of network or server: try again.
    Passing(anyhow::Error),
    /// Another attempt would fail too.
    Final(anyhow::Error),
}

/// Downloads `url` to `to`. The part so far is kept in `to` + `.part`; the next attempt or run resumes it.
/// `progress` is called with the bytes so far and in all (if known). Its error stops the download.
///
/// # Errors
/// Returns an error if `to` has other content, the server refuses, length or MD5 are wrong, or the disk is full.
pub fn download(
    url: &str,
    to: &Path,
    expect: Expect,
    patience: Patience,
    progress: &mut dyn FnMut(u64, Option<u64>) -> Result<()>,
) -> Result<()> {
    if to.exists() {
        return verify(to, expect)
            .with_context(|| format!("{} exists already; remove it to download it again", to.display()));
    }
    let folder = to.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let part = part_of(to);
    check_space(folder, expect.bytes, length(&part))?;
    let mut resumed = length(&part) > 0;
    let (mut fails, mut wait) = (0, patience.wait);
    loop {
        let before = length(&part);
        let outcome = attempt(url, &part, expect, patience, progress);
        match outcome {
            Ok(()) => match verify(&part, expect) {
                Ok(()) => break,
                // The part may be of an older version of the file: try once more from the start.
                Err(_) if resumed => {
                    remove(&part)?;
                    resumed = false;
                    continue;
                }
                Err(e) => {
                    remove(&part)?;
                    return Err(e.context(format!(
                        "{url}: the download is not the published file and was removed"
                    )));
                }
            },
            Err(Failure::Final(e)) => return Err(e),
            Err(Failure::Passing(e)) => {
                resumed |= length(&part) > 0;
                fails = if length(&part) > before { 1 } else { fails + 1 };
                if fails >= patience.attempts {
                    return Err(e.context(format!(
                        "{url}: gave up after {fails} attempts; {} bytes are kept in {}; run the command again to resume",
                        length(&part),
                        part.display()
                    )));
                }
                thread::sleep(wait);
                wait = if fails <= 1 {
                    patience.wait
                } else {
                    (wait * 2).min(LONGEST_WAIT)
                };
            }
        }
    }
    fs::rename(&part, to).with_context(|| format!("cannot rename {} to {}", part.display(), to.display()))
}

/// One request, which appends the missing bytes to `part`.
fn attempt(
    url: &str,
    part: &Path,
    expect: Expect,
    patience: Patience,
    progress: &mut dyn FnMut(u64, Option<u64>) -> Result<()>,
) -> Result<(), Failure> {
    let passing = |e: anyhow::Error| Failure::Passing(e.context(url.to_owned()));
    let refused = |e: anyhow::Error| Failure::Final(e.context(url.to_owned()));
    if expect.bytes.is_some_and(|n| length(part) > n) {
        remove(part).map_err(Failure::Final)?;
    }
    let have = length(part);
    if expect.bytes == Some(have) && have > 0 {
        return Ok(());
    }
    let mut response = request(url, have, patience).map_err(passing)?;
    let status = response.status().as_u16();
    let start = match status {
        200 => 0,
        206 if range_start(&response) == Some(have) => have,
        206 | 416 => {
            remove(part).map_err(Failure::Final)?;
            return Err(passing(anyhow::anyhow!(
                "the server cannot go on from byte {have}; from the start"
            )));
        }
        408 | 425 | 429 | 500..=599 => return Err(passing(anyhow::anyhow!("the server answers {status}"))),
        _ => {
            return Err(refused(anyhow::anyhow!(
                "the server answers {status}; has the file moved? its page may tell"
            )));
        }
    };
    let encoded = response
        .headers()
        .get("content-encoding")
        .is_some_and(|e| e != "identity");
    if encoded {
        return Err(refused(anyhow::anyhow!(
            "the server sends an encoding that was not asked for"
        )));
    }
    let coming = response.body().content_length().map(|n| start + n);
    if let (Some(coming), Some(bytes)) = (coming, expect.bytes)
        && coming > bytes
    {
        return Err(refused(anyhow::anyhow!(
            "the server announces {coming} bytes, but the file has {bytes}: it is not the published file"
        )));
    }
    let all = expect.bytes.or(coming);
    check_space(part.parent().unwrap_or(Path::new(".")), all, start).map_err(Failure::Final)?;
    let mut file = open_part(part, start).map_err(Failure::Final)?;
    let mut body = response.body_mut().with_config().limit(u64::MAX).reader();
    let outcome = copy(&mut body, &mut file, start, expect.bytes, &mut |now| {
        progress(now, all)
    });
    let done = outcome.map_err(|e| match e {
        Failure::Passing(e) => passing(e),
        Failure::Final(e) => refused(e),
    })?;
    file.sync_all()
        .with_context(|| part.display().to_string())
        .map_err(Failure::Final)?;
    match all {
        Some(all) if done < all => Err(passing(anyhow::anyhow!(
            "the server closed the connection at byte {done} of {all}"
        ))),
        _ => Ok(()),
    }
}

fn request(url: &str, have: u64, patience: Patience) -> Result<ureq::http::Response<ureq::Body>> {
    let mut config = ureq::Agent::config_builder();
    if url.starts_with("http://127.0.0.1") {
        // A proxy has no business with this machine itself.
        config = config.proxy(None);
    }
    let agent: ureq::Agent = config
        .https_only(url.starts_with("https:"))
        .http_status_as_error(false)
        .accept_encoding("identity")
        .timeout_connect(Some(patience.silence))
        .timeout_recv_response(Some(patience.silence))
        .timeout_per_read(Some(patience.silence))
        .user_agent(concat!("canopy/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let mut get = agent.get(url);
    if have > 0 {
        get = get.header("Range", format!("bytes={have}-"));
    }
    Ok(get.call()?)
}

/// The first byte of a 206's `Content-Range: bytes 5-9/10`.
fn range_start<B>(response: &ureq::http::Response<B>) -> Option<u64> {
    let text = response.headers().get("content-range")?.to_str().ok()?;
    text.trim()
        .strip_prefix("bytes")?
        .trim()
        .split('-')
        .next()?
        .trim()
        .parse()
        .ok()
}

/// Copies until the end or past `most`; returns the length of the file.
fn copy(
    from: &mut dyn Read,
    to: &mut File,
    start: u64,
    most: Option<u64>,
    progress: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<u64, Failure> {
    let mut buffer = vec![0; 1 << 16];
    let mut at = start;
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => return Ok(at),
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => {
                return Err(Failure::Passing(
                    anyhow::Error::from(e).context(format!("the connection broke at byte {at}")),
                ));
            }
        };
        if let Some(most) = most.filter(|&most| at + n as u64 > most) {
            return Err(Failure::Final(anyhow::anyhow!(
                "the server sends more than the file's {most} bytes: it is not the published file"
            )));
        }
        to.write_all(&buffer[..n])
            .with_context(|| format!("cannot write at byte {at}: is the disk full?"))
            .map_err(Failure::Final)?;
        at += n as u64;
        progress(at).map_err(Failure::Final)?;
    }
}

fn open_part(part: &Path, start: u64) -> Result<File> {
    let mut options = OpenOptions::new();
    if start == 0 {
        options.write(true).create(true).truncate(true)
    } else {
        options.append(true)
    };
    options
        .open(part)
        .with_context(|| format!("cannot write {}", part.display()))
}

/// Holds the file at `path` to its length and MD5.
///
/// # Errors
/// Names both values where they differ.
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
/// The system's.
pub fn free_space(folder: &Path) -> Result<u64> {
    let absolute = std::path::absolute(folder).with_context(|| folder.display().to_string())?;
    let there = absolute
        .ancestors()
        .find(|p| p.exists())
        .unwrap_or(Path::new("."));
    fs4::available_space(there)
        .with_context(|| format!("{}: cannot determine the free space of its disk", there.display()))
}

fn check_space(folder: &Path, bytes: Option<u64>, have: u64) -> Result<()> {
    let need = bytes.unwrap_or(0).saturating_sub(have) + SPARE;
    let free = free_space(folder)?;
    if free < need {
        bail!(
            "{}: {free} bytes free, {need} needed; choose another disk with --out",
            folder.display()
        );
    }
    Ok(())
}

fn part_of(to: &Path) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |m| m.len())
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(e).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
