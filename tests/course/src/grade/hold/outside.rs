//! The grader's end: starts the held program, listens, and ends it when its time is over.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{
            net::UnixStream,
            process::{CommandExt, ExitStatusExt},
        },
    },
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::{Report, Spec};

/// The most that is kept of what it prints, on each of its two ways, and of what it says over the channel.
const PRINTED: usize = 64 << 10;
const SAID: u64 = 4 << 20;

/// Set when the user wants to stop: nothing more is started, and what runs is ended.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// How it ended.
#[derive(Debug)]
pub struct Ended {
    /// What held it.
    pub report: Report,
    /// Its exit code; nothing where its time was over.
    pub code: Option<i32>,
    /// What it printed as an error, its beginning.
    pub errors: String,
}

impl Ended {
    /// In words.
    pub fn how(&self, limit: u64) -> String {
        match self.code {
            None => format!("it did not end within {limit} s"),
            Some(code) if code > 128 => match signal(code - 128) {
                Some(name) => format!("it was ended by {name}"),
                None => format!("it was ended by signal {}", code - 128),
            },
            Some(code) => format!("it ended with exit code {code}"),
        }
    }
}

fn signal(number: i32) -> Option<&'static str> {
    Some(match number {
        libc::SIGABRT => "SIGABRT: a panic while panicking, no memory left, or an overflow of the stack",
        libc::SIGSEGV => "SIGSEGV: an overflow of the stack, or memory that is not its own",
        libc::SIGKILL => "SIGKILL: its limit of processor time or memory",
        libc::SIGXCPU => "SIGXCPU: its limit of processor time",
        libc::SIGXFSZ => "SIGXFSZ: its limit of file size",
        libc::SIGSYS => "SIGSYS: a system call that it may not make",
        _ => return None,
    })
}

/// Runs `spec`; sends it `first`, and hands each line that it says to `heard`.
pub fn run(spec: &Spec, first: &str, mut heard: impl FnMut(&str)) -> Result<Ended> {
    let (ours, theirs) = UnixStream::pair().context("a pair of sockets")?;
    let program = std::env::current_exe().context("this program's own file")?;
    let mut child = Command::new(program)
        .arg("hold")
        .arg(serde_json::to_string(spec)?)
        .env_clear()
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("a submission's process could not be started")?;
    let _printed = Printed::new(child.stdout.take());
    let errors = Printed::new(child.stderr.take());
    let deadline = Instant::now() + Duration::from_secs(spec.limits.wall);
    let listened = listen(ours, first, deadline, &mut heard);
    // What has said its last word still may run: wait for it as long as it may.
    let code = wait(&mut child, deadline);
    let report = listened?;
    let errors = errors.text();
    if let Some(why) = &report.failed {
        bail!("{why}");
    }
    if report.held.is_empty() {
        bail!(
            "the process that holds a submission did not start: {}",
            errors.trim()
        );
    }
    Ok(Ended { report, code, errors })
}

/// What a process prints: all is read, the beginning is kept.
struct Printed {
    kept: Arc<Mutex<Vec<u8>>>,
    over: mpsc::Receiver<()>,
}

impl Printed {
    fn new(from: Option<impl Read + Send + 'static>) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (end, over) = mpsc::channel();
        let into = kept.clone();
        thread::spawn(move || {
            let Some(mut from) = from else {
                return;
            };
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut part) {
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                let room = PRINTED.saturating_sub(kept.len());
                kept.extend_from_slice(&part[..count.min(room)]);
            }
            let _ = end.send(());
        });
        Self { kept, over }
    }

    /// Of a process that has ended.
    fn text(self) -> String {
        // Somebody may still hold the other end where nothing holds processes together.
        let _ = self.over.recv_timeout(Duration::from_secs(1));
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

fn listen(
    channel: UnixStream,
    first: &str,
    deadline: Instant,
    heard: &mut impl FnMut(&str),
) -> Result<Report> {
    // One that is gone already does not listen; its report says why.
    let _ = (&channel).write_all(format!("{first}\n").as_bytes());
    channel.set_read_timeout(Some(Duration::from_millis(100)))?;
    let mut lines = BufReader::new((&channel).take(SAID));
    let (mut report, mut line) = (None, Vec::new());
    loop {
        let read = lines.read_until(b'\n', &mut line);
        match read {
            Ok(0) => break,
            Ok(_) if line.ends_with(b"\n") => {
                let text = String::from_utf8_lossy(&line);
                match report {
                    None => report = Some(serde_json::from_str(&text).unwrap_or_default()),
                    Some(_) => heard(&text),
                }
                line.clear();
            }
            Ok(_) => break,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
        if Instant::now() > deadline || STOP.load(SeqCst) {
            break;
        }
    }
    Ok(report.unwrap_or_default())
}

/// Its exit code, as soon as it ends; nothing where it must be ended.
fn wait(child: &mut Child, deadline: Instant) -> Option<i32> {
    let mut code = None;
    while Instant::now() < deadline && !STOP.load(SeqCst) {
        match child.try_wait() {
            Ok(Some(status)) => {
                code = status.code().or_else(|| status.signal().map(|s| 128 + s));
                break;
            }
            Ok(None) => thread::sleep(Duration::from_millis(2)),
            Err(_) => break,
        }
    }
    // Its group, which in a namespace of processes takes all with it; those that ended do not mind.
    // SAFETY: takes numbers; the child is not yet reaped or has just been, and no other group has its number so soon.
    if code.is_none() {
        unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    }
    let _ = child.kill();
    let _ = child.wait();
    code
}
