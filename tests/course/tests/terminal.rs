//! `cargo course watch` on a real terminal: it reads keys, and restores the terminal.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::{Child, Command, Stdio},
    ptr::null_mut,
    thread,
    time::Duration,
};

/// The last line, printed when a check has ended.
const KEYS: &str = "q quit";

const CTRL_C: &str = "\x03";

/// The files of the exercises.
const FILE: &str = "exercises/lesson01/src/lib.rs";
const KERNEL: &str = "exercises/lesson01/src/halve.cu";

/// A course with two exercises and no Cargo.toml, so that their checks end at once with an error of cargo.
fn course() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let mut toml = "lesson = \"01\"\ntitle = \"A lesson\"\nminutes = 1\nchapter = \"c.md\"\n".to_owned();
    for (id, title, file) in [("1.1", "Double it", "lib.rs"), ("1.2", "Halve it", "halve.cu")] {
        toml += &format!(
            "[[exercise]]\nid = \"{id}\"\ntitle = \"{title}\"\npoints = 1\nfile = \"{file}\"\nfunction = \"double\"\nsolution = \"s\"\n\
             answer = \"double\"\nhints = [\"a\", \"b\", \"c\"]\n"
        );
    }
    for (file, text) in [
        ("lessons/lesson01/lesson.toml", &*toml),
        (FILE, "pub fn double() {}\n"),
        (KERNEL, "// mine\n"),
        ("lessons/lesson01/src/halve.cu", "// stub\n"),
    ] {
        let file = root.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    root
}

/// What `ready` returns, as soon as it does.
fn within_a_minute<T>(mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    (0..3000).find_map(|_| {
        thread::sleep(Duration::from_millis(20));
        ready()
    })
}

/// `cargo course watch`, and both ends of its terminal.
struct Watched {
    screen: File,
    other: OwnedFd,
    child: Child,
}

impl Watched {
    fn start(root: &Path) -> Self {
        let (mut ours, mut theirs) = (0, 0);
        // SAFETY: `openpty` writes both descriptors before they are owned.
        let (screen, other) = unsafe {
            let done = libc::openpty(&mut ours, &mut theirs, null_mut(), null_mut(), null_mut());
            assert_eq!(done, 0, "a terminal could not be created");
            // A child that inherited our end would keep the terminal open.
            libc::fcntl(ours, libc::F_SETFD, libc::FD_CLOEXEC);
            libc::fcntl(ours, libc::F_SETFL, libc::O_NONBLOCK);
            (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_course"));
        command
            .arg("watch")
            .current_dir(root)
            .env("TERM", "xterm-256color");
        // SAFETY: `login_tty` may be called between fork and exec. The terminal then sends Ctrl-C as a signal.
        let command = unsafe {
            command.pre_exec(move || {
                assert_eq!(libc::login_tty(theirs), 0);
                Ok(())
            })
        };
        let child = command.spawn().unwrap();
        Self { screen, other, child }
    }

    /// Types `keys`, and reads the screen until it shows `text` and below it [`KEYS`].
    fn shows(&mut self, keys: &str, text: &str) {
        self.screen.write_all(keys.as_bytes()).unwrap();
        let (mut seen, mut part) = (String::new(), [0; 4096]);
        let shown = within_a_minute(|| {
            let count = self.screen.read(&mut part).unwrap_or(0);
            seen += &String::from_utf8_lossy(&part[..count]);
            let (_, below) = seen.split_once(text)?;
            below.contains(KEYS).then_some(())
        });
        assert!(shown.is_some(), "{text:?} is not shown: {seen:?}");
    }

    /// Types `keys`, waits until the program has ended and restored the terminal, and returns its exit code.
    fn ended_by(&mut self, keys: &str) -> Option<i32> {
        self.screen.write_all(keys.as_bytes()).unwrap();
        let status = within_a_minute(|| self.child.try_wait().unwrap()).expect("it does not exit");
        assert!(self.is_usual(), "the terminal was not restored");
        status.code()
    }

    /// Whether the terminal echoes input and passes it on line by line, as a shell expects.
    fn is_usual(&self) -> bool {
        // SAFETY: `tcgetattr` writes all settings, or the assertion fails.
        unsafe {
            let mut now: libc::termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(self.other.as_raw_fd(), &mut now), 0);
            now.c_lflag & libc::ECHO != 0 && now.c_lflag & libc::ICANON != 0
        }
    }
}

#[test]
fn it_reads_keys_and_saves_and_restores_the_terminal() {
    let root = course();
    let mut watched = Watched::start(root.path());
    watched.shows("", "");
    assert!(!watched.is_usual(), "keys are read one by one");
    watched.shows("h", "hint 1 of 3");
    watched.shows("r", "Double it");
    watched.shows("n", KERNEL);
    fs::write(root.path().join(KERNEL), "// new\n").unwrap();
    watched.shows("", "Halve it");
    // Another file is renamed over the exercise.
    fs::write(root.path().join("new"), "pub fn double() { }\n").unwrap();
    fs::rename(root.path().join("new"), root.path().join(FILE)).unwrap();
    watched.shows("", "Halve it");
    for quit in ["q", CTRL_C] {
        assert_eq!(watched.ended_by(quit), Some(0));
        watched = Watched::start(root.path());
        watched.shows("", "");
    }
    // SAFETY: `kill` has no conditions.
    unsafe { libc::kill(watched.child.id().cast_signed(), libc::SIGTERM) };
    assert_eq!(watched.ended_by(""), Some(130));
    watched = Watched::start(root.path());
    watched.shows("", "");
    drop((watched.screen, watched.other));
    let exits = within_a_minute(|| watched.child.try_wait().unwrap());
    assert!(exits.is_some(), "it outlives its terminal");
}

#[test]
fn ctrl_c_during_a_check_ends_the_program_and_the_terminal_is_as_before() {
    let root = course();
    let manifest = "[package]\nname = \"lesson01\"\n[[bin]]\nname = \"grade01\"\npath = \"build.rs\"\n";
    fs::write(root.path().join("Cargo.toml"), manifest).unwrap();
    // The check builds the lesson, and its build script does not end.
    let script = "fn main() { std::fs::write(\"began\", \"\").unwrap(); loop { std::thread::park() } }";
    fs::write(root.path().join("build.rs"), script).unwrap();
    let mut watched = Watched::start(root.path());
    let is_checking = || root.path().join("began").exists().then_some(());
    assert!(within_a_minute(is_checking).is_some(), "the check does not begin");
    assert_eq!(watched.ended_by(CTRL_C), Some(130));
}

#[test]
fn reset_restores_the_file_of_a_kernel_and_keeps_a_copy() {
    let root = course();
    let mut command = Command::new(env!("CARGO_BIN_EXE_course"));
    let status = command.args(["reset", "1.2"]).current_dir(root.path()).status();
    assert!(status.unwrap().success());
    let read = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
    assert_eq!(
        [read(KERNEL), read(".course/kept/1.2-1.cu")],
        ["// stub\n", "// mine\n"]
    );
}

#[test]
fn without_a_terminal_it_reports_an_error() {
    let root = course();
    let mut command = Command::new(env!("CARGO_BIN_EXE_course"));
    let command = command.arg("watch").current_dir(root.path()).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("needs a terminal"), "{error}");
}
