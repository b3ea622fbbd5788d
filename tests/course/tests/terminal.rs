//! `cargo course watch` on a real terminal: it draws, and always restores the terminal.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    fs::File,
    io::{Read, Write},
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// The two ends of a terminal of 80 × 24.
fn terminal() -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (0, 0);
    let mut size = libc::winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let none = std::ptr::null_mut();
    // SAFETY: `openpty` writes both descriptors before they are owned, and reads the size only during the call.
    unsafe {
        let done = libc::openpty(&mut ours, &mut theirs, none, none.cast(), &raw mut size);
        assert_eq!(done, 0, "a terminal could not be created");
        (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
    }
}

/// Whether the terminal echoes input and passes it on line by line, as a shell expects.
fn is_usual(terminal: &OwnedFd) -> bool {
    // SAFETY: `tcgetattr` writes all settings, or the assertion fails.
    unsafe {
        let mut now: libc::termios = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &mut now), 0);
        now.c_lflag & libc::ECHO != 0 && now.c_lflag & libc::ICANON != 0
    }
}

/// A course with one exercise and no Cargo.toml, so that its check ends at once with an error of cargo.
fn course(name: &str) -> PathBuf {
    let root = std::env::temp_dir().join(format!("course-terminal-{name}-{}", std::process::id()));
    for folder in ["lessons/lesson01/src", "exercises/lesson01/src"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let toml = "lesson = \"01\"\ntitle = \"A lesson\"\nminutes = 1\nchapter = \"c.md\"\n[[exercise]]\nid = \"1.1\"\n\
                title = \"Double it\"\npoints = 1\nfunction = \"double\"\nsolution = \"s\"\nanswer = \"double\"\n\
                hints = [\"a\", \"b\", \"c\"]\n";
    fs::write(root.join("lessons/lesson01/lesson.toml"), toml).unwrap();
    fs::write(root.join("exercises/lesson01/src/lib.rs"), "pub fn double() {}\n").unwrap();
    root
}

struct Watched {
    root: PathBuf,
    screen: File,
    other: OwnedFd,
    child: Child,
    said: mpsc::Receiver<String>,
    seen: String,
}

impl Watched {
    fn start(name: &str) -> Self {
        let (screen, other) = terminal();
        let end = || Stdio::from(other.try_clone().unwrap());
        let root = course(name);
        let child = Command::new(env!("CARGO_BIN_EXE_course"))
            .arg("watch")
            .current_dir(&root)
            .env("TERM", "xterm-256color")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let (send, said) = mpsc::channel();
        let mut reader = screen.try_clone().unwrap();
        thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut part) {
                if send
                    .send(String::from_utf8_lossy(&part[..n]).into_owned())
                    .is_err()
                {
                    return;
                }
            }
        });
        Self {
            root,
            screen,
            other,
            child,
            said,
            seen: String::new(),
        }
    }

    fn wait_for(&mut self, text: &str) {
        while !self.seen.contains(text) {
            match self.said.recv_timeout(Duration::from_secs(60)) {
                Ok(part) => self.seen += &part,
                Err(_) => panic!("{text:?} did not come: {:?}", self.seen),
            }
        }
    }

    fn ends(mut self) {
        let status = self.child.wait().unwrap();
        self.wait_for("\x1b[?1049l");
        assert!(status.success(), "{status}");
        assert!(is_usual(&self.other), "the terminal was not restored");
        fs::remove_dir_all(&self.root).unwrap();
    }
}

#[test]
fn q_quits() {
    let mut watched = Watched::start("key");
    watched.wait_for("\x1b[?1049h");
    watched.wait_for("Double it");
    assert!(!is_usual(&watched.other), "keys are read one by one");
    watched.wait_for("NOT CHECKED");
    watched.screen.write_all(b"q").unwrap();
    watched.ends();
}

#[test]
fn control_c_and_a_signal_restore_the_terminal() {
    let mut watched = Watched::start("control-c");
    watched.wait_for("Double it");
    watched.screen.write_all(b"\x03").unwrap();
    watched.ends();
    let mut watched = Watched::start("signal");
    watched.wait_for("Double it");
    // SAFETY: the child was not waited for, so its id cannot belong to another process.
    unsafe {
        libc::kill(watched.child.id() as libc::pid_t, libc::SIGTERM);
    }
    watched.ends();
}

#[test]
fn without_a_terminal_it_reports_an_error() {
    let root = course("none");
    let output = Command::new(env!("CARGO_BIN_EXE_course"))
        .arg("watch")
        .current_dir(&root)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("needs a terminal"), "{said}");
    fs::remove_dir_all(root).unwrap();
}
