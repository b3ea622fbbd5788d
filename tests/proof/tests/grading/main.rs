//! Right, wrong and hostile submissions, graded together: each gets the mark that it deserves, and none affects another.
//!
//! All are graded in one run of `cargo course grade`; each test checks a part of its results. Linux only, because grading
//! refuses to run on other systems.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod archives;
mod deeds;
mod lessons;
mod race;
mod separate;

use std::{
    fs,
    net::TcpListener,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
    time::SystemTime,
};

use archives::{SOURCE, put};
use grader::grades::Grade;
use proof::{program, root};
use walkdir::WalkDir;

/// The results of the one run.
struct Run {
    all: PathBuf,
    grades: PathBuf,
    /// The files that no submission may change, before and after.
    files: [Vec<(PathBuf, u64, SystemTime)>; 2],
    /// Whether something connected to the listener.
    connected: bool,
    code: Option<i32>,
    output: String,
}

/// The one run; `None` without a sandbox.
fn graded() -> Option<&'static Run> {
    static GRADED: LazyLock<Option<Run>> = LazyLock::new(grade_all);
    if GRADED.is_none() {
        println!("not run, because bubblewrap is not installed, or may not be used here");
    }
    GRADED.as_ref()
}

/// The files, also hidden ones, that a submission could want to change, and those of `sentinel`, with length and time.
fn snapshot(sentinel: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let course = [
        "lessons",
        "solutions/src",
        "exercises",
        "tests/course/src",
        "tests/grader/src",
    ];
    let folders = course.map(|folder| root().join(folder));
    let folders = folders.iter().map(PathBuf::as_path).chain([sentinel]);
    let all = folders.flat_map(WalkDir::new).map(Result::unwrap);
    all.filter(|entry| !entry.file_type().is_dir())
        .map(|entry| {
            let meta = entry.metadata().unwrap();
            (entry.into_path(), meta.len(), meta.modified().unwrap())
        })
        .collect()
}

fn grade_all() -> Option<Run> {
    let base = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("grading");
    let _ = fs::remove_dir_all(&base);
    let (all, grades, sentinel) = (base.join("all"), base.join("grades"), base.join("sentinel"));
    fs::create_dir_all(&grades).unwrap();
    put(&sentinel, "stays", "as it is");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _socket = UnixListener::bind(sentinel.join("socket")).unwrap();
    // What a deed names: a folder that must not change, the course's, another submission's, and a listener.
    let places = [
        ("SENTINEL", sentinel.display().to_string()),
        ("ROOT", root().display().to_string()),
        ("OTHER", all.join("honest").display().to_string()),
        ("PORT", listener.local_addr().unwrap().port().to_string()),
    ];
    put(&all.join("honest"), SOURCE, lessons::honest());
    lessons::hand_in_all(&all);
    for deed in deeds::deeds() {
        for (file, source) in deed.files() {
            let named = |text: String, (name, place): &(&str, String)| text.replace(name, place);
            let source = places.iter().fold(source, named);
            put(&all.join(deed.name), &file, source);
        }
    }
    archives::folders(&all, &sentinel);
    archives::tars(&all, &sentinel);
    let before = snapshot(&sentinel);
    let mut grade = Command::new(program("course"));
    grade
        .args("grade --seed 20261121 --jobs 2 --out".split(' '))
        .args([&grades, &all]);
    // These variables must not reach a submission.
    grade.envs([
        ("CANOPY_SEED", "1"),
        ("CANOPY_TOKEN", "secret"),
        ("LD_PRELOAD", ""),
    ]);
    let out = grade.current_dir(root()).output().unwrap();
    let output = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
    if out.status.code() == Some(2) && output.contains("no untrusted program") {
        return None;
    }
    listener.set_nonblocking(true).unwrap();
    Some(Run {
        all,
        grades,
        files: [before, snapshot(&sentinel)],
        connected: listener.accept().is_ok(),
        code: out.status.code(),
        output,
    })
}

impl Run {
    fn grade(&self, name: &str) -> Grade {
        let grade = Grade::load(&self.grades.join(name).join("grade.json"));
        grade.unwrap_or_else(|e| panic!("{name}: {e:#}\n{}", self.output))
    }
}

/// The status, and all messages to the student.
fn messages(grade: &Grade) -> String {
    let mut all = vec![format!("{:?}", grade.status)];
    all.extend(grade.reason.iter().chain(&grade.left_out).cloned());
    all.extend(grade.lessons.iter().filter_map(|lesson| lesson.stopped.clone()));
    for exercise in grade.exercises() {
        all.extend(exercise.remark.clone());
        all.extend(exercise.checks.iter().map(|check| check.report.clone()));
    }
    all.join("\n")
}

#[test]
fn every_submission_gets_its_exact_mark_and_reads_the_reason() {
    let Some(run) = graded() else { return };
    let mut odd = Vec::new();
    for deed in deeds::deeds() {
        let (name, grade) = (deed.name, run.grade(deed.name));
        let (points, text) = (grade.points(), messages(&grade));
        // The other exercises are as right as they were.
        let first = grade.exercises().next().is_some_and(|e| e.points == 1);
        let shown = deed.shows.iter().all(|part| text.contains(part));
        if points != deed.points || first != [12, 18].contains(&points) || !shown {
            odd.push(format!(
                "{name}: {points} points, the first exercise {first}, {:?}: {text}",
                deed.shows
            ));
        }
    }
    assert!(odd.is_empty(), "{}", odd.join("\n"));
    assert!(run.grade("honest").left_out.is_empty());
}

#[test]
fn nothing_outside_is_changed_and_nobody_is_called() {
    let Some(run) = graded() else { return };
    let [before, after] = &run.files;
    assert!(before.len() > 300, "only {} files were watched", before.len());
    let changed: Vec<_> = before.iter().filter(|file| !after.contains(file)).collect();
    assert!(changed.is_empty() && before.len() == after.len(), "{changed:?}");
    assert!(!run.connected, "something connected");
    // Some could not be graded, and the run says so by its code.
    assert_eq!(run.code, Some(1), "{}", run.output);
    let sandbox = run.grade("honest").sandbox;
    assert_eq!(
        sandbox.active.join(" "),
        "files network processes seccomp limits user"
    );
    assert_eq!(sandbox.missing, [""; 0]);
}

#[test]
fn every_submission_is_listed_and_what_is_skipped_is_said() {
    let Some(run) = graded() else { return };
    let [marks, page] =
        ["marks.csv", "index.html"].map(|file| fs::read_to_string(run.grades.join(file)).unwrap());
    for entry in fs::read_dir(&run.all).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.trim_end_matches(".tar.gz");
        let report = format!("{name}/grade.html");
        let found = [
            marks.lines().any(|line| line.starts_with(&format!("{name},"))),
            page.contains(&format!("\"{report}\"")),
            run.grades.join(report).is_file(),
            run.output
                .contains(&format!("/{name}, because its name is that of a hidden file")),
        ];
        let expected = !name.starts_with('.');
        assert_eq!(
            found,
            [expected, expected, expected, !expected],
            "{name}: sheet, page, report, skipped"
        );
    }
}
