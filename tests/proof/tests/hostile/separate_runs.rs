//! Separate runs: one that reuses the grades of another, and one inside a container.

use std::{fs, path::Path, process::Command};

use grader::grades::Grade;
use proof::{course, root};

use crate::{
    HONEST,
    answers::{self, DEEDS},
    is_run, messages,
};

/// `cargo course grade` of one folder, with more arguments; its exit code.
fn grade_one(submission: &Path, out: &Path, more: &[&str]) -> Option<i32> {
    let mut command = Command::new(course());
    command.arg("grade").arg(submission).arg("--out").arg(out);
    let out = command.args(more).current_dir(root()).output().unwrap();
    out.status.code()
}

#[test]
fn a_second_run_grades_only_what_changed() {
    if !is_run() {
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let (submission, out) = (base.path().join("ada"), base.path().join("grades"));
    let source = submission.join("exercises/lesson01/src/lib.rs");
    fs::create_dir_all(source.parent().unwrap()).unwrap();
    fs::write(&source, HONEST).unwrap();
    let load = || Grade::load(&out.join("ada/grade.json")).unwrap();
    assert_eq!(grade_one(&submission, &out, &["--require", "wings"]), Some(2));
    let clock = ["--clock", "file"];
    assert_eq!(grade_one(&submission, &out, &clock), Some(0));
    let first = load();
    assert_eq!(first.points(), 12);
    let due = ["--due", "2026-01-01T00:00:00Z", "--late", "100%/day"];
    // Nothing says when it was handed in, so nothing is deducted.
    assert_eq!(grade_one(&submission, &out, &due), Some(0));
    assert!(load().origin.late_unknown.is_some() && load().late.is_none());
    assert_eq!(
        grade_one(&submission, &out, &[&due[..], &clock].concat()),
        Some(0)
    );
    let late = load();
    assert_eq!(late.mark(), 0.0);
    // Nothing was run again: seconds and seed are those of the first run.
    assert_eq!(Grade { late: None, ..late }, first);
    fs::write(&source, HONEST.replace("sum + bias", "sum - bias")).unwrap();
    assert_eq!(grade_one(&submission, &out, &[]), Some(0));
    assert_eq!((load().points(), load().seed), (11, first.seed));
    let calls = HONEST.replace(
        "activation(sum",
        "let _ = canopy::kernels::neuron; activation(sum",
    );
    fs::write(&source, calls).unwrap();
    assert_eq!(grade_one(&submission, &out, &[]), Some(0));
    assert_eq!(load().points(), 12);
    assert_eq!(
        grade_one(&submission, &out, &["--refuse-solution-calls"]),
        Some(0)
    );
    assert_eq!(load().points(), 11);
    // Grades of one lesson are not mixed with grades of two.
    let second = submission.join("exercises/lesson02/src/lib.rs");
    fs::create_dir_all(second.parent().unwrap()).unwrap();
    fs::copy(root().join("lessons/lesson02/src/stubs.rs"), second).unwrap();
    for (more, lessons) in [(&[][..], 2), (&["--lesson", "01"], 1), (&[], 2)] {
        assert_eq!(grade_one(&submission, &out, more), Some(0));
        assert_eq!(load().lessons.len(), lessons, "{more:?}");
    }
}

#[test]
fn inside_a_container_verdicts_are_the_same() {
    let base = tempfile::tempdir().unwrap();
    let (submission, out) = (base.path().join("ada"), base.path().join("grades"));
    let source = submission.join("exercises/lesson01/src/lib.rs");
    fs::create_dir_all(source.parent().unwrap()).unwrap();
    // Without the sandbox, a submission can open its own output through `/proc`. One exercise is wrong.
    let deed = DEEDS
        .iter()
        .find(|d| d.name == "writes-into-the-verdict-by-its-number");
    let text = answers::source(deed.unwrap()).replace("0..64", "3..64");
    let text = text.replace("- (grad * lr)?", "+ (grad * lr)?");
    fs::write(&source, text).unwrap();
    let required = ["--inside-container", "--require", "files"];
    assert_eq!(grade_one(&submission, &out, &required), Some(2));
    assert_eq!(grade_one(&submission, &out, &required[..1]), Some(0));
    let grade = Grade::load(&out.join("ada/grade.json")).unwrap();
    // Where root is the only user, as in a user namespace of its own, the deed succeeds, and the grade says that it could.
    let only_root = grade
        .sandbox
        .missing
        .iter()
        .any(|m| m.contains("only root exists"));
    let expected = if only_root { 9 } else { 10 };
    assert_eq!(grade.points(), expected, "{}", messages(&grade));
    assert!(
        grade.sandbox.missing.iter().any(|m| m.starts_with("files:")),
        "{grade:?}"
    );
}
