//! Separate runs: one that is interrupted, one that reuses the grades of another, and one inside a container.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use grader::grades::{Grade, Status};
use proof::{course, root};

use crate::{
    archives::{SOURCE, put},
    deeds::{deeds, with_neuron},
    in_the_run,
    lessons::honest,
    messages,
};

/// `cargo course grade` of one submission, with more options; its exit code.
fn grade(submission: &Path, out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(course());
    command
        .arg("grade")
        .args(more)
        .arg("--out")
        .args([out, submission])
        .current_dir(root());
    command
}

fn code(submission: &Path, out: &Path, more: &[&str]) -> Option<i32> {
    grade(submission, out, more).output().unwrap().status.code()
}

/// A folder for submissions and one for grades.
fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let base = tempfile::tempdir().unwrap();
    let (class, out) = (base.path().join("class"), base.path().join("grades"));
    (base, class, out)
}

fn load(out: &Path, name: &str) -> Grade {
    Grade::load(&out.join(name).join("grade.json")).unwrap()
}

#[test]
fn an_interrupt_costs_no_row() {
    in_the_run(|_| {
        let (_base, class, out) = folders();
        let endless = with_neuron("loop { std::hint::spin_loop() }");
        for (name, text) in [("anna", honest()), ("ben", endless), ("cem", honest())] {
            put(&class.join(name), SOURCE, text);
        }
        let mut command = grade(&class, &out, &["--jobs", "1"]);
        let mut running = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut progress = BufReader::new(running.stderr.take().unwrap()).lines();
        assert!(progress.any(|line| line.unwrap().starts_with("1 of 3")));
        let kill = Command::new("kill")
            .args(["-INT", &running.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        let rest: Vec<String> = progress.map(Result::unwrap).collect();
        let stopped = running.wait_with_output().unwrap();
        let table = String::from_utf8_lossy(&stopped.stdout);
        assert_eq!(stopped.status.code(), Some(1), "{table}\n{rest:?}");
        assert_eq!(table.matches("not yet").count(), 2, "{table}");
        for name in ["ben", "cem"] {
            let grade = load(&out, name);
            assert_eq!(grade.status, Status::NotGraded);
            assert!(grade.reason.unwrap().contains("interrupted"));
        }
        assert_eq!(
            fs::read_to_string(out.join("marks.csv")).unwrap().lines().count(),
            4
        );
        put(&class.join("ben"), SOURCE, honest());
        assert_eq!(code(&class, &out, &[]), Some(0));
        assert_eq!(
            ["anna", "ben", "cem"].map(|name| load(&out, name).points()),
            [12; 3]
        );
    });
}

#[test]
fn a_second_run_grades_only_what_changed() {
    in_the_run(|_| {
        let (_base, class, out) = folders();
        let submission = class.join("ada");
        let load = || load(&out, "ada");
        let grade = |more: &[&str]| assert_eq!(code(&submission, &out, more), Some(0), "{more:?}");
        put(&submission, SOURCE, honest());
        assert_eq!(code(&submission, &out, &["--require", "wings"]), Some(2));
        grade(&["--clock", "file"]);
        let first = load();
        assert_eq!(first.points(), 12);
        let due = ["--due", "2026-01-01T00:00:00Z", "--late", "100%/day"];
        // Nothing says when it was handed in, so nothing is deducted.
        grade(&due);
        assert!(load().origin.late_unknown.is_some() && load().late.is_none());
        grade(&[&due[..], &["--clock", "file"]].concat());
        let late = load();
        assert_eq!(late.mark(), 0.0);
        // Nothing was run again: seconds and seed are those of the first run.
        assert_eq!(Grade { late: None, ..late }, first);
        put(&submission, SOURCE, with_neuron("-RIGHT"));
        grade(&[]);
        assert_eq!((load().points(), load().seed), (11, first.seed));
        put(
            &submission,
            SOURCE,
            with_neuron("let _ = canopy::kernels::neuron; RIGHT"),
        );
        grade(&[]);
        assert_eq!(load().points(), 12);
        grade(&["--refuse-solution-calls"]);
        assert_eq!(load().points(), 11);
        // Grades of one lesson are not mixed with grades of two.
        let stubs = fs::read(root().join("lessons/lesson02/src/stubs.rs")).unwrap();
        put(&submission, "exercises/lesson02/src/lib.rs", stubs);
        for (more, lessons) in [(&[][..], 2), (&["--lesson", "01"], 1), (&[], 2)] {
            grade(more);
            assert_eq!(load().lessons.len(), lessons, "{more:?}");
        }
    });
}

#[test]
fn inside_a_container_verdicts_are_the_same() {
    let (_base, class, out) = folders();
    // Without the sandbox, a submission can open its own output through `/proc`.
    let deed = deeds()
        .find(|deed| deed.name == "writes-into-the-verdict-by-its-number")
        .unwrap();
    let text = deed
        .source()
        .replace("0..64", "3..64")
        .replace("- (grad * lr)?", "+ (grad * lr)?");
    put(&class.join("ada"), SOURCE, text);
    let options = ["--inside-container", "--require", "files"];
    assert_eq!(code(&class.join("ada"), &out, &options), Some(2));
    assert_eq!(code(&class.join("ada"), &out, &options[..1]), Some(0));
    let grade = load(&out, "ada");
    let missing = |what: &str| grade.sandbox.missing.iter().any(|part| part.contains(what));
    assert!(missing("files:"), "{grade:?}");
    // Where root is the only user, as in a user namespace of its own, the deed succeeds, and the grade says that it could.
    let expected = if missing("only root exists") { 11 } else { 12 };
    assert_eq!(grade.points(), expected, "{}", messages(&grade));
}
