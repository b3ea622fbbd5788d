//! `cargo course watch` on a real terminal: it reads keys, ends what it started, and always restores the
//! terminal.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    fs::File,
    io::{Read, Write},
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::{Path, PathBuf},
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
        // A child that inherited our end would keep the terminal open.
        libc::fcntl(ours, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(theirs, libc::F_SETFD, libc::FD_CLOEXEC);
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

/// The last line, printed when a check has ended.
const KEYS: &str = "q quit";

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

/// What `ready` gives, once it does.
fn within_a_minute<T>(mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    (0..3000).find_map(|_| {
        thread::sleep(Duration::from_millis(20));
        ready()
    })
}

/// Starts `course watch` in a session of its own, whose terminal sends Ctrl-C as a signal.
fn spawn(root: &Path, other: &OwnedFd) -> Child {
    let lead = || {
        // SAFETY: both functions may be called between fork and exec, and descriptor 0 is the terminal then.
        unsafe {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
        }
        Ok(())
    };
    let end = || Stdio::from(other.try_clone().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_course"));
    command
        .arg("watch")
        .current_dir(root)
        .env("TERM", "xterm-256color")
        .stdin(end())
        .stdout(end())
        .stderr(end());
    // SAFETY: `lead` calls only functions that may be called there.
    unsafe { command.pre_exec(lead) }.spawn().unwrap()
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
    fn start(root: PathBuf) -> Self {
        let (screen, other) = terminal();
        let child = spawn(&root, &other);
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
        assert!(status.success(), "{status}");
        assert!(is_usual(&self.other), "the terminal was not restored");
        fs::remove_dir_all(&self.root).unwrap();
    }
}

#[test]
fn q_quits() {
    let mut watched = Watched::start(course("key"));
    watched.wait_for(KEYS);
    assert!(!is_usual(&watched.other), "keys are read one by one");
    watched.screen.write_all(b"q").unwrap();
    watched.ends();
}

#[test]
fn keys_show_a_hint_and_check_again() {
    let mut watched = Watched::start(course("hint"));
    watched.wait_for(KEYS);
    watched.screen.write_all(b"h").unwrap();
    watched.wait_for("hint 1 of 3");
    watched.seen.clear();
    watched.screen.write_all(b"r").unwrap();
    watched.wait_for(KEYS);
    watched.screen.write_all(b"q").unwrap();
    watched.ends();
}

#[test]
fn control_c_and_a_signal_restore_the_terminal() {
    let mut watched = Watched::start(course("control-c"));
    watched.wait_for(KEYS);
    watched.screen.write_all(b"\x03").unwrap();
    watched.ends();
    let mut watched = Watched::start(course("signal"));
    watched.wait_for(KEYS);
    // SAFETY: the child was not waited for, so its id cannot belong to another process.
    unsafe {
        libc::kill(watched.child.id() as libc::pid_t, libc::SIGTERM);
    }
    watched.ends();
}

/// A save begins the check anew, and Ctrl-C ends it: the build that was running is gone both times.
#[test]
fn a_save_and_control_c_end_a_check() {
    let root = course("check");
    let package = "[package]\nname = \"lesson01\"\nedition = \"2024\"\n[[bin]]\nname = \"grade01\"\npath = \"main.rs\"\n";
    // It locks a file while it runs.
    let build = "fn main() {
        let file = std::fs::File::create(\"new\").unwrap();
        file.lock().unwrap();
        std::fs::rename(\"new\", \"building\").unwrap();
        std::thread::sleep(std::time::Duration::from_secs(600));
    }";
    let lesson = root.join("lessons/lesson01");
    fs::write(
        root.join("Cargo.toml"),
        "[workspace]\nmembers = [\"lessons/*\"]\n",
    )
    .unwrap();
    fs::write(lesson.join("Cargo.toml"), package).unwrap();
    fs::write(lesson.join("main.rs"), "fn main() {}").unwrap();
    fs::write(lesson.join("build.rs"), build).unwrap();
    let building = || {
        let path = lesson.join("building");
        let file = within_a_minute(|| File::open(&path).ok()).expect("no build begins");
        fs::remove_file(path).unwrap();
        file
    };
    let is_over = |build: &File| within_a_minute(|| build.try_lock().ok()).is_some();
    let mut watched = Watched::start(root.clone());
    let first = building();
    fs::write(
        root.join("exercises/lesson01/src/lib.rs"),
        "pub fn double() { }\n",
    )
    .unwrap();
    let second = building();
    assert!(is_over(&first), "a save does not end the build");
    watched.screen.write_all(b"\x03").unwrap();
    assert!(is_over(&second), "Ctrl-C does not end the build");
    watched.ends();
}

#[test]
fn a_closed_terminal_ends_it() {
    let root = course("closed");
    let (mut screen, other) = terminal();
    let mut child = spawn(&root, &other);
    drop(other);
    let (mut seen, mut part) = (String::new(), [0; 4096]);
    while !seen.contains(KEYS) {
        let count = screen.read(&mut part).unwrap();
        seen += &String::from_utf8_lossy(&part[..count]);
    }
    drop(screen);
    assert!(within_a_minute(|| child.try_wait().unwrap()).is_some());
    fs::remove_dir_all(root).unwrap();
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
