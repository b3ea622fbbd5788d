//! Separate runs: one that is interrupted, one that reuses the grades of another, and one inside a container.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use grader::grades::{Grade, Status};
use proof::{program, root};

use crate::{
    archives::{SOURCE, put},
    deeds::{deeds, with_neuron},
    graded,
    lessons::honest,
    messages,
};

/// A folder with submissions and their grades.
struct Class(tempfile::TempDir);

impl Class {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn submission(&self, name: &str) -> PathBuf {
        self.0.path().join("class").join(name)
    }

    fn hand_in(&self, name: &str, text: impl AsRef<[u8]>) {
        put(&self.submission(name), SOURCE, text);
    }

    /// `cargo course grade` with more options.
    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(program("course"));
        command
            .arg("grade")
            .args(more)
            .arg("--out")
            .arg(self.0.path().join("grades"));
        command.arg(self.0.path().join("class")).current_dir(root());
        command
    }

    fn code(&self, more: &[&str]) -> Option<i32> {
        self.command(more).output().unwrap().status.code()
    }

    fn load(&self, name: &str) -> Grade {
        Grade::load(&self.0.path().join("grades").join(name).join("grade.json")).unwrap()
    }
}

#[test]
fn an_interrupt_ends_the_run_and_keeps_what_was_graded() {
    let Some(_) = graded() else { return };
    let class = Class::new();
    for name in ["anna", "cem"] {
        class.hand_in(name, honest());
    }
    class.hand_in("ben", with_neuron("loop { std::hint::spin_loop() }"));
    let interrupted = |more: &[&str]| {
        let mut command = class.command(&[&["--jobs", "1"], more].concat());
        let mut running = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().starts_with("1 of 3")));
        let id = running.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &id])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(running.wait().unwrap().code(), Some(1));
    };
    interrupted(&[]);
    assert_eq!(class.load("anna").points(), 12);
    for name in ["ben", "cem"] {
        let grade = class.load(name);
        assert_eq!(grade.status, Status::NotGraded);
        assert!(grade.reason.unwrap().contains("interrupted"));
    }
    class.hand_in("ben", honest());
    assert_eq!(class.code(&[]), Some(0));
    // The grades of the earlier run stay.
    interrupted(&["--again", "all"]);
    assert_eq!(
        ["anna", "ben", "cem"].map(|name| class.load(name).points()),
        [12; 3]
    );
}

#[test]
fn a_second_run_grades_only_what_changed() {
    let Some(_) = graded() else { return };
    let class = Class::new();
    let grade = |more: &[&str]| {
        assert_eq!(class.code(more), Some(0), "{more:?}");
        class.load("ada")
    };
    class.hand_in("ada", honest());
    assert_eq!(class.code(&["--lesson", "99"]), Some(2));
    let first = grade(&[]);
    assert_eq!(first.points(), 12);
    // Nothing is run again: seconds and seed are those of the first run.
    assert_eq!(grade(&[]), first);
    class.hand_in("ada", with_neuron("-RIGHT"));
    let second = grade(&[]);
    assert_eq!((second.points(), second.seed), (11, first.seed));
    class.hand_in("ada", with_neuron("let _ = canopy::kernels::neuron; RIGHT"));
    assert_eq!(grade(&[]).points(), 12);
    assert_eq!(grade(&["--refuse-solution-calls"]).points(), 11);
    // Grades of one lesson are not mixed with grades of two.
    let stubs = fs::read(root().join("lessons/lesson02/src/stubs.rs")).unwrap();
    put(&class.submission("ada"), "exercises/lesson02/src/lib.rs", stubs);
    for (more, lessons) in [(&[][..], 2), (&["--lesson", "01"], 1), (&[], 2)] {
        assert_eq!(grade(more).lessons.len(), lessons, "{more:?}");
    }
}

#[test]
fn inside_a_container_verdicts_are_the_same() {
    let class = Class::new();
    // Without the sandbox, a submission can open its own output through `/proc`. One exercise is wrong.
    let deed = deeds().find(|deed| deed.name == "writes-into-the-verdict-by-its-number");
    let text = deed.unwrap().source().unwrap();
    class.hand_in(
        "ada",
        text.replace("0..64", "3..64")
            .replace("- (grad * lr)?", "+ (grad * lr)?"),
    );
    let out = class.command(&["--inside-container"]).output().unwrap();
    let output = String::from_utf8_lossy(&out.stderr);
    if output.contains("no untrusted program") {
        return println!("not run, because root is the only user here");
    }
    assert_eq!(out.status.code(), Some(0), "{output}");
    let grade = class.load("ada");
    let missing = |what: &str| grade.sandbox.missing.iter().any(|part| part.contains(what));
    assert!(missing("files:"), "{grade:?}");
    // If answers run as the user who grades, the deed succeeds, and the grade says that it could.
    let expected = if missing("user:") { 9 } else { 10 };
    assert_eq!(grade.points(), expected, "{}", messages(&grade));
}
