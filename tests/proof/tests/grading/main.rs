//! Right, wrong and hostile submissions, graded together: each gets the mark that it deserves, and none affects another.
//!
//! All are graded in one run of `cargo course grade`; each test checks a part of its results. Linux only, because grading
//! refuses to run on other systems.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod archives;
mod deeds;
mod lessons;
mod separate;

use std::{
    collections::BTreeMap,
    fs,
    net::TcpListener,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use archives::{SOURCE, put};
use grader::grades::Grade;
use proof::{course, root};

/// The results of the one run.
struct Run {
    all: PathBuf,
    grades: PathBuf,
    /// The files that no submission may change, before and after.
    files: [Files; 2],
    /// Whether something connected to the listener.
    connected: bool,
    code: Option<i32>,
    output: String,
}

type Files = BTreeMap<PathBuf, (u64, Option<std::time::SystemTime>)>;

/// The one run; `None` without a sandbox.
static GRADED: LazyLock<Option<Run>> = LazyLock::new(graded);

/// Tests the one run, or prints why there is none.
fn in_the_run(test: impl FnOnce(&Run)) {
    match &*GRADED {
        Some(run) => test(run),
        None => println!("not run, because bubblewrap is not installed, or may not be used here"),
    }
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

/// Grades all of them.
fn graded() -> Option<Run> {
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
        let mut source = deed.source();
        places
            .iter()
            .for_each(|(name, place)| source = source.replace(name, place));
        put(&all.join(deed.name), SOURCE, source);
    }
    // So many parentheses that a recursive parser runs out of stack.
    let (open, close) = ("(".repeat(50_000), ")".repeat(50_000));
    let nested = format!("pub const DEEP: u64 = {open}1{close};\n{}", lessons::honest());
    put(&all.join("nests-parentheses"), SOURCE, nested);
    archives::folders(&all, &sentinel);
    archives::tars(&all, &sentinel);
    let snapshot = || {
        let mut found = Files::new();
        files(&sentinel, &mut found);
        for folder in "lessons solutions/src exercises tests/course/src tests/grader/src".split(' ') {
            files(&root().join(folder), &mut found);
        }
        found
    };
    let before = snapshot();
    let mut grade = Command::new(course());
    grade
        .args("grade --seed 20261121 --jobs 2 --out".split(' '))
        .args([&grades, &all]);
    // These variables must not reach a submission.
    let poison = [
        ("CANOPY_SEED", "1"),
        ("CANOPY_TOKEN", "secret"),
        ("LD_PRELOAD", ""),
    ];
    let out = grade.current_dir(root()).envs(poison).output().unwrap();
    let output = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    if out.status.code() == Some(2) && output.contains("no untrusted program") {
        return None;
    }
    listener.set_nonblocking(true).unwrap();
    let (connected, code, files) = (listener.accept().is_ok(), out.status.code(), [before, snapshot()]);
    Some(Run {
        all,
        grades,
        files,
        connected,
        code,
        output,
    })
}

impl Run {
    fn grade(&self, name: &str) -> Grade {
        let grade = Grade::load(&self.grades.join(name).join("grade.json"));
        grade.unwrap_or_else(|e| panic!("{name}: {e:#}\n{}", self.output))
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.grades.join(path)).unwrap_or_default()
    }
}

/// All messages to the student.
fn messages(grade: &Grade) -> String {
    let lessons = grade.lessons.iter().filter_map(|lesson| lesson.stopped.as_ref());
    let checks = grade
        .exercises()
        .flat_map(|e| e.checks.iter().map(|check| &check.report).chain(&e.remark));
    let all = lessons.chain(checks).chain(&grade.reason).chain(&grade.left_out);
    let said = all.map(String::as_str).filter(|text| !text.is_empty());
    said.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_deed_ends_in_its_exact_mark() {
    in_the_run(|run| {
        let mut odd = Vec::new();
        let active = run.grade("honest").sandbox.active;
        for deed in deeds::deeds() {
            let (name, needs, grade) = (deed.name, deed.needs, run.grade(deed.name));
            if !active.iter().any(|part| part == needs) {
                println!("{name} not run, because this machine does not provide: {needs}");
                continue;
            }
            // The other exercises are as right as they were.
            let others = grade.exercises().filter(|e| e.id != "1.1");
            let (points, others, text) = (
                grade.points(),
                others.map(|e| e.points).sum::<u32>(),
                messages(&grade),
            );
            if points != deed.points || !text.contains(deed.shows) || others != deed.points.min(11) {
                odd.push(format!("{name}: {points} points, {others} of others, {text}"));
            }
        }
        assert!(odd.is_empty(), "{}", odd.join("\n"));
    });
}

/// Submissions with their state, their points, and what their messages say.
const FILES: &str = "honest | Graded | 12
nests-parentheses | Graded | 0 | does not compile
brings-other-files | Graded | 12 | build.rs | .cargo | Cargo.toml | grade.json | large.rs: it is larger than 1 MiB
links-and-climbs | Graded | 12 | ../../../lessons | ../../../up.rs | ..\\evil.rs | climbed.rs | passwd.rs: a link \
    | hard.rs: a link | pipe.rs: not a plain file | disk.rs: not a plain file
mimics-grades | Graded | 12 | grade.json
is-a-bomb | Refused | 0 | 256 MiB
has-many-files | Refused | 0 | 64 Rust files
is-cut-short | Unreadable | 0 | could not be read
is-no-archive | Unreadable | 0 | could not be read
is-not-utf-8 | Unreadable | 0 | lib.rs
is-a-link-in-a-folder | Graded | 0 | lib.rs was not handed in
does-not-start | NotGraded | 0 | the checks did not start";

#[test]
fn hostile_files_are_left_out_or_refused_and_the_reason_is_said() {
    in_the_run(|run| {
        for line in FILES.lines() {
            let mut words = line.split('|').map(str::trim);
            let [name, state, points] = [(); 3].map(|()| words.next().unwrap());
            let grade = run.grade(name);
            let text = messages(&grade);
            let marked = format!("{:?} | {}", grade.status, grade.points());
            assert_eq!(marked, format!("{state} | {points}"), "{name}: {text}");
            words.for_each(|word| assert!(text.contains(word), "no {word:?} for {name}: {text}"));
        }
        assert!(run.grade("honest").left_out.is_empty());
        let skipped = run.output.lines().filter(|line| line.starts_with("skipped: "));
        let skipped: Vec<&str> = skipped.collect();
        let why = "/.is-hidden, because its name is that of a hidden file";
        assert!(matches!(skipped[..], [one] if one.contains(why)), "{skipped:?}");
    });
}

#[test]
fn nothing_outside_is_changed_and_nobody_is_called() {
    in_the_run(|run| {
        assert_eq!(run.files[0], run.files[1]);
        assert!(!run.connected, "something connected");
        // Some could not be graded, and the run says so by its code.
        assert_eq!(run.code, Some(1), "{}", run.output);
        assert!(!run.grades.join(".work").exists());
        let sandbox = run.grade("honest").sandbox;
        assert_eq!(
            sandbox.active.join(" "),
            "files network processes seccomp limits user"
        );
        assert_eq!(sandbox.missing, [""; 0]);
    });
}

#[test]
fn every_submission_has_a_row_in_every_table() {
    in_the_run(|run| {
        let sheets = ["marks.csv", "canvas.csv"].map(|sheet| run.read(sheet));
        let page = run.read("index.html");
        for entry in fs::read_dir(&run.all).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let name = name.trim_end_matches(".tar.gz");
            if name.starts_with('.') {
                continue;
            }
            let in_sheet = |sheet: &String| sheet.lines().any(|line| line.starts_with(&format!("{name},")));
            let files = ["grade.json", "grade.html", "results.json", "classroom.json"];
            // The printed table cuts long names.
            let short = &name[..name.len().min(30)];
            let folder = run.grades.join(name);
            let found = [
                sheets.iter().all(in_sheet),
                page.contains(&format!("\"{name}/grade.html\"")),
                files.iter().all(|file| folder.join(file).is_file()),
                run.output.lines().any(|line| line.starts_with(short)),
            ];
            assert_eq!(found, [true; 4], "{name}: sheets, page, files, printed table");
        }
        // In the gradebook of a platform, an empty cell is not 0.
        let name = "does-not-start";
        let row = |sheet: &String| {
            sheet
                .lines()
                .find(|line| line.starts_with(name))
                .unwrap()
                .to_owned()
        };
        let [marks, canvas] = sheets.each_ref().map(row);
        let start = format!("{name},,,,,not graded,,,");
        assert!(
            marks.starts_with(&start) && marks.contains("did not start"),
            "{marks}"
        );
        assert_eq!(canvas.trim_end_matches(','), format!("{name},,{name}"));
        assert!(!run.read(&format!("{name}/results.json")).contains("\"score\""));
    });
}
