//! Hostile submissions, graded beside an honest one: each gets the mark that it deserves, and none affects another.
//!
//! All are graded in one run of `cargo course grade`; each test checks a part of its results. Linux only, because grading
//! refuses to run on other systems.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod answers;
mod archives;
mod rows;
mod separate_runs;
mod stopped;

use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    process::Command,
    sync::{LazyLock, Mutex},
};

use answers::{DEEDS, source};
use grader::grades::{Grade, Status};
use proof::{course, root};
use stopped::{STOPPED, after, nested};

/// A submission of lesson 01 with right answers only. Hostile submissions replace one of its functions.
const HONEST: &str = include_str!("honest.rs");

/// The results of the one run.
struct Run {
    grades: PathBuf,
    /// The files of a folder that no submission may change, before and after.
    sentinel: (Files, Files),
    /// The course's own files before and after.
    course: (Files, Files),
    /// Whether something connected to the listener.
    connected: Mutex<bool>,
    code: Option<i32>,
    output: String,
}

type Files = BTreeMap<PathBuf, (u64, Option<std::time::SystemTime>)>;

/// The one run; `None` without a sandbox.
static GRADED: LazyLock<Option<Run>> = LazyLock::new(graded);

/// Whether submissions were graded; prints the reason if not.
fn is_run() -> bool {
    if GRADED.is_none() {
        println!("not run, because bubblewrap is not installed, or may not be used here");
    }
    GRADED.is_some()
}

fn run() -> &'static Run {
    GRADED.as_ref().expect("a run")
}

fn files(folder: &Path, found: &mut Files) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let meta = entry.metadata().unwrap();
        if meta.is_dir() {
            files(&entry.path(), found);
        } else {
            found.insert(entry.path(), (meta.len(), meta.modified().ok()));
        }
    }
}

fn snapshot(folders: &[PathBuf]) -> Files {
    let mut found = Files::new();
    folders.iter().for_each(|f| files(f, &mut found));
    found
}

/// Grades all of them.
fn graded() -> Option<Run> {
    let base = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hostile");
    let _ = fs::remove_dir_all(&base);
    let (all, grades, sentinel) = (base.join("all"), base.join("grades"), base.join("sentinel"));
    for folder in [&all, &grades, &sentinel] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(sentinel.join("stays"), "as it is").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _socket = UnixListener::bind(sentinel.join("socket")).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let placed = |text: String| {
        text.replace("SENTINEL", &sentinel.display().to_string())
            .replace("ROOT", &root().display().to_string())
            .replace("OTHER", &all.join("honest").display().to_string())
            .replace("PORT", &port)
    };
    let submit = |name: &str, text: String| {
        let folder = all.join(name).join("exercises/lesson01/src");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("lib.rs"), text).unwrap();
    };
    submit("honest", HONEST.to_owned());
    DEEDS.iter().for_each(|d| submit(d.name, placed(source(d))));
    STOPPED
        .iter()
        .for_each(|(name, _, head)| submit(name, after(&placed((*head).to_owned()))));
    submit("nests-parentheses", after(&nested()));
    archives::folders(&all, &sentinel);
    archives::tars(&all, &sentinel);
    rows::folders(&all);
    let course_files = [
        "lessons",
        "solutions/src",
        "exercises",
        "tests/course/src",
        "tests/grader/src",
    ]
    .map(|f| root().join(f));
    let before = (snapshot(std::slice::from_ref(&sentinel)), snapshot(&course_files));
    let out = Command::new(course())
        .args([
            "grade",
            "--seed",
            "20261121",
            "--jobs",
            "2",
            "--seconds",
            "30",
            "--out",
        ])
        .arg(&grades)
        .arg(&all)
        .current_dir(root())
        // These variables must not reach a submission.
        .env("CANOPY_SEED", "1")
        .env("CANOPY_TOKEN", "secret")
        .env("LD_PRELOAD", "")
        .output()
        .unwrap();
    if out.status.code() == Some(2) && String::from_utf8_lossy(&out.stderr).contains("no untrusted program") {
        return None;
    }
    listener.set_nonblocking(true).unwrap();
    Some(Run {
        sentinel: (before.0, snapshot(std::slice::from_ref(&sentinel))),
        course: (before.1, snapshot(&course_files)),
        connected: Mutex::new(listener.accept().is_ok()),
        code: out.status.code(),
        output: String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr),
        grades,
    })
}

fn grade(name: &str) -> Grade {
    Grade::load(&run().grades.join(name).join("grade.json"))
        .unwrap_or_else(|e| panic!("{name}: {e:#}\n{}", run().output))
}

/// All messages to the student.
fn messages(grade: &Grade) -> String {
    let stopped = grade.lessons.iter().filter_map(|l| l.stopped.clone());
    let checks = grade
        .exercises()
        .flat_map(|e| &e.checks)
        .map(|c| c.report.clone());
    let remarks = grade.exercises().filter_map(|e| e.remark.clone());
    stopped
        .chain(checks)
        .chain(remarks)
        .chain(grade.reason.clone())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Asserts that the whole lesson is right, and that the files `left_out` of the submission were ignored and reported.
fn all_right_without(name: &str, left_out: &[&str]) {
    let grade = grade(name);
    assert_eq!(
        (grade.status, grade.points()),
        (Status::Graded, 12),
        "{name}: {}",
        messages(&grade)
    );
    for path in left_out {
        let named = grade.left_out.iter().any(|l| l.contains(path));
        assert!(named, "{name}: {path} is not among {:?}", grade.left_out);
    }
}

#[test]
fn an_honest_submission_beside_them_has_all_points() {
    if !is_run() {
        return;
    }
    let honest = grade("honest");
    assert_eq!((honest.points(), honest.of()), (12, 12), "{}", messages(&honest));
    assert!(honest.left_out.is_empty(), "{:?}", honest.left_out);
}

#[test]
fn every_deed_ends_in_its_exact_mark() {
    if !is_run() {
        return;
    }
    let mut odd = Vec::new();
    let active = grade("honest").sandbox.active;
    for deed in DEEDS {
        if !active.iter().any(|h| h == deed.needs) {
            println!(
                "{} not run, because this machine does not provide: {}",
                deed.name, deed.needs
            );
            continue;
        }
        let grade = grade(deed.name);
        let text = messages(&grade);
        if grade.points() != deed.points || !text.contains(deed.shows) {
            odd.push(format!("{}: {} points, {text}", deed.name, grade.points()));
        }
        // The other exercises are as right as they were.
        let others = grade.exercises().filter(|e| e.id != "1.1");
        if others.map(|e| e.points).sum::<u32>() != 11 {
            odd.push(format!("{}: others lost points", deed.name));
        }
    }
    assert!(odd.is_empty(), "{}", odd.join("\n"));
}

#[test]
fn only_sources_are_taken_from_a_submission() {
    if !is_run() {
        return;
    }
    let files = [
        "build.rs",
        ".cargo",
        "Cargo.toml",
        "grade.json",
        "large.rs: it is larger than 1 MiB",
    ];
    all_right_without("brings-other-files", &files);
}

#[test]
fn an_archive_puts_nothing_where_it_does_not_belong() {
    if !is_run() {
        return;
    }
    let tar = [
        "../../../lessons",
        "../../../up.rs",
        "..\\evil.rs",
        "climbed.rs",
        "passwd.rs: a link",
        "hard.rs: a link",
    ];
    all_right_without("links-and-climbs", &tar);
    all_right_without(
        "links-and-climbs",
        &["pipe.rs: not a plain file", "disk.rs: not a plain file"],
    );
}

#[test]
fn what_is_too_large_is_refused_before_it_is_unpacked() {
    if !is_run() {
        return;
    }
    for (name, why) in [("is-a-bomb", "256 MiB"), ("has-many-files", "64 Rust files")] {
        let grade = grade(name);
        assert_eq!(grade.status, Status::Refused, "{name}");
        assert!(messages(&grade).contains(why), "{name}: {}", messages(&grade));
    }
}

#[test]
fn what_cannot_be_read_is_said_and_stops_no_other() {
    if !is_run() {
        return;
    }
    for name in ["is-cut-short", "is-no-archive"] {
        let grade = grade(name);
        assert_eq!((grade.status, grade.points()), (Status::Unreadable, 0), "{name}");
        assert!(grade.reason.is_some(), "{name}");
    }
    for name in ["is-not-utf-8", "is-a-link-in-a-folder"] {
        let grade = grade(name);
        assert_eq!(grade.points(), 0, "{name}");
        let mut messages = grade.left_out.iter().chain(&grade.reason);
        assert!(messages.any(|l| l.contains("lib.rs")), "{name}: {grade:?}");
    }
}

#[test]
fn nothing_outside_is_changed_and_nobody_is_called() {
    if !is_run() {
        return;
    }
    assert_eq!(run().sentinel.0, run().sentinel.1);
    assert_eq!(run().course.0, run().course.1);
    assert!(!*run().connected.lock().unwrap(), "something connected");
    // Some could not be graded, and the run says so by its code.
    assert_eq!(run().code, Some(1), "{}", run().output);
    assert!(!run().grades.join(".work").exists());
}

#[test]
fn the_grade_lists_the_parts_of_the_sandbox() {
    if !is_run() {
        return;
    }
    let sandbox = grade("honest").sandbox;
    let all = ["files", "network", "processes", "seccomp", "limits", "user"];
    assert_eq!(
        (sandbox.active, sandbox.missing),
        (all.map(str::to_owned).to_vec(), vec![])
    );
}
