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

/// Interrupts a run after the first line of progress that begins with `progress`; its exit code and its table.
fn interrupted(mut command: Command, progress: &str) -> (Option<i32>, String) {
    let mut running = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with(progress)));
    let id = running.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let stopped = running.wait_with_output().unwrap();
    (stopped.status.code(), String::from_utf8(stopped.stdout).unwrap())
}

#[test]
fn an_interrupt_ends_the_run_and_costs_no_row() {
    in_the_run(|_| {
        let (_base, class, out) = folders();
        let endless = with_neuron("loop { std::hint::spin_loop() }");
        for (name, text) in [("anna", honest()), ("ben", endless), ("cem", honest())] {
            put(&class.join(name), SOURCE, text);
        }
        let grade = |more: &[&str]| grade(&class, &out, &[&["--jobs", "1"], more].concat());
        let is_graded = |table: &str, name: &str| {
            let row = table.lines().find(|line| line.starts_with(name));
            !row.unwrap().contains("not yet")
        };
        // There is nothing to keep while the lesson is built.
        let building = interrupted(grade(&[]), "building lesson 01");
        assert_eq!(building, (Some(130), String::new()));
        let (code, table) = interrupted(grade(&[]), "1 of 3");
        let graded = ["anna", "ben", "cem"].map(|name| is_graded(&table, name));
        assert_eq!((code, graded), (Some(1), [true, false, false]), "{table}");
        for name in ["ben", "cem"] {
            let grade = load(&out, name);
            assert_eq!(grade.status, Status::NotGraded);
            assert!(grade.reason.unwrap().contains("interrupted"));
        }
        let marks = fs::read_to_string(out.join("marks.csv")).unwrap();
        assert_eq!(marks.lines().count(), 4, "{marks}");
        put(&class.join("ben"), SOURCE, honest());
        assert_eq!(grade(&[]).output().unwrap().status.code(), Some(0));
        // The grades of the earlier run stay, but nobody is listed as graded who was not graded again.
        let (code, table) = interrupted(grade(&["--again", "all"]), "1 of 3");
        let graded = ["ben", "cem"].map(|name| is_graded(&table, name));
        assert_eq!((code, graded), (Some(1), [false, false]), "{table}");
        let points = ["anna", "ben", "cem"].map(|name| load(&out, name).points());
        assert_eq!(points, [12; 3]);
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
        grade(&[]);
        let first = load();
        assert_eq!(first.points(), 12);
        let due = ["--due", "2026-01-01T00:00:00Z", "--late", "100"];
        // Nothing says when it was handed in, so nothing is deducted.
        grade(&due);
        assert!(load().origin.late_unknown.is_some() && load().late.is_none());
        put(
            &submission,
            "submission.toml",
            "packed = \"2026-01-01T00:00:01Z\"",
        );
        grade(&due);
        let late = load();
        assert_eq!(late.mark(), 0.0);
        // Nothing was run again: seconds and seed are those of the first run.
        assert_eq!(
            (late.seconds, late.seed, &late.lessons),
            (first.seconds, first.seed, &first.lessons)
        );
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
    // Without the sandbox, a submission can open its own output through `/proc`. One exercise is wrong.
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
    let expected = if missing("only root exists") { 9 } else { 10 };
    assert_eq!(grade.points(), expected, "{}", messages(&grade));
}
