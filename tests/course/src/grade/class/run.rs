//! Runs an untrusted program: reads the lines that it sends over the channel, and kills it at its deadline.

use std::{
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{
            net::UnixStream,
            process::{CommandExt, ExitStatusExt},
        },
    },
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

/// Maximum numbers of bytes that are kept of its standard error, and read from the channel: a race sends models.
const PRINTED: u64 = 64 << 10;
const RECEIVED: u64 = 1 << 30;

/// Set when the user wants to stop: nothing more is started, and running programs are killed.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code, or 128 plus its signal; `None` if it was killed at its deadline.
    pub code: Option<i32>,
    /// The beginning of its standard error.
    pub errors: String,
}

impl Ended {
    /// In words.
    pub fn how(&self, limit: u64) -> String {
        let code = match self.code {
            None => return format!("it did not end within {limit} s"),
            Some(code @ 0..=128) => return format!("it exited with code {code}"),
            Some(code) => code,
        };
        let signal = match code - 128 {
            libc::SIGABRT => "SIGABRT: a panic while panicking, no memory left, or an overflow of the stack",
            libc::SIGSEGV => "SIGSEGV: an overflow of the stack, or memory that is not its own",
            libc::SIGKILL => "SIGKILL: its limit of CPU time or memory",
            libc::SIGXCPU => "SIGXCPU: its limit of CPU time",
            other => return format!("it was terminated by signal {other}"),
        };
        format!("it was terminated by {signal}")
    }
}

/// Runs `command` for at most `wall` seconds. Sends it the line `first`, and calls `heard` with each of its
/// lines.
pub fn run(mut command: Command, wall: u64, first: &str, mut heard: impl FnMut(&str)) -> Result<Ended> {
    let (ours, theirs) = UnixStream::pair().context("a pair of sockets")?;
    let mut child = command
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} could not be started", command.get_program().display()))?;
    // It owns the other end of the socket: while it exists, reading would not reach the end.
    drop(command);
    let (send, errors) = mpsc::channel();
    let stderr = child.stderr.take();
    thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.by_ref().take(PRINTED).read_to_end(&mut kept);
            let _ = send.send(kept);
            let _ = io::copy(&mut stderr, &mut io::sink());
        }
    });
    let deadline = Instant::now() + Duration::from_secs(wall);
    let listened = listen(&ours, first, deadline, &mut heard);
    // A program that has closed the channel may still be running.
    let code = wait(&mut child, deadline);
    listened?;
    // Without bubblewrap, a process that it started may still have the other end open.
    let errors = errors.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
    Ok(Ended {
        code,
        errors: String::from_utf8_lossy(&errors).into_owned(),
    })
}

fn listen(channel: &UnixStream, first: &str, deadline: Instant, heard: &mut impl FnMut(&str)) -> Result<()> {
    // If the program has exited already, nobody reads it.
    let _ = (&mut &*channel).write_all(format!("{first}\n").as_bytes());
    channel.set_read_timeout(Some(Duration::from_millis(100)))?;
    let mut lines = BufReader::new(channel.take(RECEIVED));
    let mut line = Vec::new();
    while Instant::now() < deadline && !STOP.load(SeqCst) {
        match lines.read_until(b'\n', &mut line) {
            Ok(_) if line.ends_with(b"\n") => {
                heard(&String::from_utf8_lossy(&line));
                line.clear();
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            _ => break,
        }
    }
    Ok(())
}

/// Waits for the exit code; kills the process, and returns nothing, at the deadline.
fn wait(child: &mut Child, deadline: Instant) -> Option<i32> {
    while Instant::now() < deadline && !STOP.load(SeqCst) {
        match child.try_wait() {
            Ok(Some(status)) => return status.code().or_else(|| Some(128 + status.signal()?)),
            Ok(None) => thread::sleep(Duration::from_millis(2)),
            Err(_) => break,
        }
    }
    // The group, for what runs without bubblewrap; bubblewrap takes all processes with it.
    // SAFETY: the arguments are integers. The child is not reaped yet, so that no other group has its number.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    let _ = child.wait();
    None
}
