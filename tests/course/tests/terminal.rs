//! `cargo course watch` on a real terminal, which the program `script` opens: it reads keys, and restores the terminal.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    io::{BufReader, Read, Write},
    path::Path,
    process::{ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// What the terminal runs. In the end, it prints the exit code and the terminal's settings.
const RUN: &str = r#"trap : INT; sh -c 'echo "pid $$"; exec "$COURSE" watch'; echo "code $?"; stty -a"#;

/// The last line, printed when a check has ended.
const KEYS: &str = "q quit";

const CTRL_C: &str = "\x03";

/// The files of the exercises.
const FILE: &str = "exercises/lesson01/src/lib.rs";
const KERNEL: &str = "exercises/lesson01/src/halve.cu";

const STUB: &str = "extern \"C\" __global__ void halve() {\n}\n";

const LESSON: &str = "lesson = '01'\ntitle = 'A lesson'\nminutes = 1\nchapter = 'c.md'\nexercise = [\n\
    {id = '1.1', title = 'Double it', points = 1, function = 'double', solution = 's', answer = 'a', hints = ['a', 'b', 'c']},\n\
    {id = '1.2', title = 'Halve it', points = 1, file = 'halve.cu', function = 'halve', solution = 's', answer = 'a', hints = ['a', 'b', 'c']},\n]\n";

/// A course with two exercises and no Cargo.toml, so that their checks end at once with an error of cargo.
fn course() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("lessons/lesson01/lesson.toml", LESSON),
        (FILE, "pub fn double() {}\n"),
        (KERNEL, &STUB.replace('}', "    mine\n}")),
        ("lessons/lesson01/src/halve.cu", STUB),
    ] {
        let file = root.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    root
}

/// `cargo course watch`, and its terminal.
struct Watched {
    keyboard: ChildStdin,
    screen: Receiver<u8>,
    /// Its process ID.
    id: String,
}

impl Watched {
    fn start(root: &Path) -> Self {
        let mut script = Command::new("script");
        script.args(["--quiet", "--echo", "always", "--command", RUN, "/dev/null"]);
        script.env("COURSE", env!("CARGO_BIN_EXE_course"));
        script.env("TERM", "xterm-256color").current_dir(root);
        let script = script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = script.spawn().unwrap();
        let (send, screen) = mpsc::channel();
        let keyboard = script.stdin.take().unwrap();
        thread::spawn(move || {
            let output = BufReader::new(script.stdout.take().unwrap());
            let _ = output.bytes().try_for_each(|byte| send.send(byte.unwrap()));
            script.wait().unwrap();
        });
        let id = String::new();
        let mut watched = Self { keyboard, screen, id };
        let seen = watched.shows("", "pid ", "\n");
        watched.id = seen.trim_start_matches("pid ").trim().to_owned();
        watched
    }

    /// Types `keys`, and reads the screen until it shows `text` and below it `then`.
    fn shows(&mut self, keys: &str, text: &str, then: &str) -> String {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        let mut seen = String::new();
        while !seen
            .split_once(text)
            .is_some_and(|(_, below)| below.contains(then))
        {
            let byte = self.screen.recv_timeout(Duration::from_secs(60));
            seen.push(
                byte.unwrap_or_else(|_| panic!("no {text:?} and {then:?}: {seen:?}"))
                    .into(),
            );
        }
        seen
    }

    /// Types `keys`, and waits until the program has exited with `code`. The terminal then echoes input and passes it on line by
    /// line, as a shell expects.
    fn exits(&mut self, keys: &str, code: i32) {
        self.shows(keys, &format!("code {code}\r\n"), "isig icanon iexten echo ");
    }
}

#[test]
fn it_reads_keys_and_saves_and_restores_the_terminal() {
    let root = course();
    let mut watched = Watched::start(root.path());
    watched.shows("", "", KEYS);
    watched.shows("h", "hint 1 of 3", KEYS);
    watched.shows("r", "Double it", KEYS);
    watched.shows("n", KERNEL, KEYS);
    fs::write(root.path().join(KERNEL), "// new\n").unwrap();
    watched.shows("", "Halve it", KEYS);
    // Another file is renamed over the exercise.
    fs::write(root.path().join("new"), "pub fn double() { }\n").unwrap();
    fs::rename(root.path().join("new"), root.path().join(FILE)).unwrap();
    watched.shows("", "Halve it", KEYS);
    for quit in ["q", CTRL_C] {
        watched.exits(quit, 0);
        watched = Watched::start(root.path());
        watched.shows("", "", KEYS);
    }
    // The second signal is that of a terminal that is closed.
    for signal in ["-TERM", "-HUP"] {
        let kill = Command::new("kill").args([signal, &watched.id]).status();
        assert!(kill.unwrap().success());
        watched.exits("", 130);
        watched = Watched::start(root.path());
        watched.shows("", "", KEYS);
    }
}

#[test]
fn ctrl_c_during_a_check_ends_the_program_and_the_terminal_is_as_before() {
    let root = course();
    let manifest = "[package]\nname = \"lesson01\"\n[[bin]]\nname = \"grade01\"\npath = \"build.rs\"\n";
    fs::write(root.path().join("Cargo.toml"), manifest).unwrap();
    // The check builds the lesson, and its build script does not end.
    let script =
        "fn main() { std::fs::write(\"/dev/tty\", \"begun\").unwrap(); loop { std::thread::park() } }";
    fs::write(root.path().join("build.rs"), script).unwrap();
    let mut watched = Watched::start(root.path());
    watched.shows("", "begun", "");
    watched.exits(CTRL_C, 130);
}

#[test]
fn reset_restores_a_kernel_and_keeps_a_copy() {
    let root = course();
    let read = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
    let mine = read(KERNEL);
    let mut command = Command::new(env!("CARGO_BIN_EXE_course"));
    let status = command.args(["reset", "1.2"]).current_dir(root.path()).status();
    assert!(status.unwrap().success());
    assert_eq!([read(KERNEL), read(".course/kept/1.2-1.cu")], [STUB, &*mine]);
}
