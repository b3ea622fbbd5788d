//! The process that becomes the program: it has one thread and takes every step in order.

use std::{
    fs::File,
    io::{self, Write},
    os::{
        fd::{FromRawFd, IntoRawFd},
        unix::process::CommandExt,
    },
    process::Command,
};

use grader::judge::CHANNEL;

use super::{Bind, Report, Spec, rights, spaces};

/// The exit code where the program could not be started.
const NOT_STARTED: i32 = 126;

/// Becomes the program of `spec`. The grader is at the other end of standard input.
pub fn hold(spec: &Spec) -> i32 {
    let mut report = Report::default();
    // SAFETY: takes no more than a number; a new session has no terminal and is a group of its own.
    unsafe { libc::setsid() };
    let _ = rights::die_with_parent();
    let mut binds = None;
    match spaces::user() {
        Ok(()) => {
            report.note("network", spaces::leave(libc::CLONE_NEWNET));
            report.note("processes", spaces::leave(libc::CLONE_NEWPID));
            let _ = spaces::leave(libc::CLONE_NEWIPC | libc::CLONE_NEWUTS);
            let own = spaces::leave(libc::CLONE_NEWNS).and_then(|()| spaces::root(spec));
            binds = report.note("files", own);
        }
        Err(error) => {
            let of = |name| format!("{name}: no namespaces, {error}");
            report.missing.extend(["network", "processes", "files"].map(of));
        }
    }
    let own_files = binds.is_some();
    // Where there is no other, the folder that was to be its root is its scratch.
    let binds = binds.unwrap_or_else(|| {
        let scratch = Bind::write("scratch", &spec.root);
        spec.binds.iter().cloned().chain([scratch]).collect()
    });
    // The first in a namespace of processes cannot be ended by a signal from within: it only waits for the program.
    let first = || spaces::apart(|| last_steps(spec, &binds, own_files, report)).unwrap_or(NOT_STARTED);
    spaces::apart(|| {
        let _ = rights::die_with_parent();
        first()
    })
    .unwrap_or(NOT_STARTED)
}

/// Gives up all rights, tells the grader what holds, and becomes the program. It comes back only where it cannot.
fn last_steps(spec: &Spec, binds: &[Bind], own_files: bool, mut report: Report) -> i32 {
    let keep = || -> io::Result<File> {
        // SAFETY: standard input is open: the grader gave it. Nobody else has the copy.
        let copy = unsafe { libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 10) };
        if copy < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        Ok(unsafe { File::from_raw_fd(copy) })
    };
    let Ok(mut channel) = keep() else {
        return NOT_STARTED;
    };
    if own_files {
        report.note("user", rights::nobody(spec.user));
    } else {
        report
            .missing
            .push("user: the course's files may not be open to others".into());
    }
    let _ = rights::die_with_parent();
    // Without files of its own it is the user of the grader, whose other processes would count.
    report.note("limits", rights::limits(&spec.limits, own_files));
    report.note("no new rights", rights::nothing_new());
    if report.note("landlock", rights::landlock(binds, spec.spawns)) == Some(false) {
        report
            .missing
            .push("landlock in full: the kernel has an older one".into());
    }
    report.note("seccomp", rights::seccomp(spec.spawns));
    let held = |name: &str| report.held.iter().any(|h| h == name);
    if !held("files") && !held("landlock") {
        report.failed = Some("nothing would keep it from your files: neither namespaces nor Landlock".into());
    }
    let place = |text: &str| {
        let by = |text: String, b: &Bind| {
            text.replace(&format!("@{}/", b.name), &format!("{}/", b.from.display()))
        };
        let text = binds.iter().fold(text.to_owned(), by);
        let whole = binds.iter().find(|b| text == format!("@{}", b.name));
        whole.map_or(text, |b| b.from.display().to_string())
    };
    let mut command = Command::new(place(&spec.args[0]));
    command.args(spec.args[1..].iter().map(|a| place(a)));
    command.env_clear();
    command.envs(spec.env.iter().map(|(k, v)| (k, place(v))));
    command.current_dir(place(&spec.start_in));
    let tell = |channel: &mut File, report: &Report| {
        let mut line = serde_json::to_string(report).unwrap_or_default();
        line.push('\n');
        channel.write_all(line.as_bytes())
    };
    if tell(&mut channel, &report).is_err() || report.failed.is_some() {
        return NOT_STARTED;
    }
    if let Err(error) = leave_open(spec.speaks, channel) {
        eprintln!("{error}");
        return NOT_STARTED;
    }
    let error = command.exec();
    eprintln!("{}: {error}", spec.args[0]);
    NOT_STARTED
}

/// Leaves three descriptors open, and the channel for one that speaks.
fn leave_open(speaks: bool, channel: File) -> io::Result<()> {
    let null = File::open("/dev/null")?.into_raw_fd();
    let channel = channel.into_raw_fd();
    // SAFETY: both are open, and owned by nobody any more.
    unsafe {
        if libc::dup2(null, 0) < 0 || (speaks && libc::dup2(channel, CHANNEL) < 0) {
            return Err(io::Error::last_os_error());
        }
        let from = if speaks { CHANNEL + 1 } else { CHANNEL };
        if libc::syscall(libc::SYS_close_range, from, libc::c_uint::MAX, 0) < 0 {
            (from..1024).for_each(|fd| {
                libc::close(fd);
            });
        }
    }
    Ok(())
}
