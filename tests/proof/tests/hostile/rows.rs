//! Submissions that could disappear from the tables: each has a row with a state in every table, or is printed as skipped.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use grader::grades::{Grade, Status};
use proof::{course, root};

use crate::{
    HONEST, all_right_without,
    archives::{SOURCE, put},
    grade, is_run, run,
};

pub fn folders(all: &Path) {
    // Needs more memory than the limit before any of its code runs. The compiler would refuse it as one piece.
    let large = "std::sync::Mutex<std::mem::MaybeUninit<[u8; 200 << 20]>>";
    let parts = (0..6)
        .map(|i| format!("static PART{i}: {large} = <{large}>::new(std::mem::MaybeUninit::uninit());\n"));
    let used =
        "let _ = std::hint::black_box([&PART0, &PART1, &PART2, &PART3, &PART4, &PART5]);\n    activation(";
    let large = HONEST.replacen("activation(sum", &format!("{used}sum"), 1) + &parts.collect::<String>();
    put(&all.join("does-not-start"), SOURCE, large);
    // The grader's own files, in and around answers.
    let mimic = all.join("mimics-grades");
    put(&mimic, SOURCE, HONEST);
    put(&mimic, ".seed", "1");
    put(&mimic, "exercises/grade.json", "{}");
    put(&all.join(".is-hidden"), SOURCE, HONEST);
}

#[test]
fn every_submission_has_a_row_in_every_table() {
    if !is_run() {
        return;
    }
    let grades = &run().grades;
    let read = |path: &str| fs::read_to_string(grades.join(path)).unwrap_or_default();
    let [marks, moodle, canvas, page] = ["marks.csv", "moodle.csv", "canvas.csv", "index.html"].map(read);
    let in_sheet = |sheet: &str, name: &str| sheet.lines().any(|l| l.starts_with(&format!("{name},")));
    let mut lost = Vec::new();
    for name in names(&grades.with_file_name("all")) {
        let found = [
            in_sheet(&marks, &name) && in_sheet(&moodle, &name) && in_sheet(&canvas, &name),
            page.contains(&format!("\"{name}/grade.html\"")),
            ["grade.json", "grade.html", "results.json", "classroom.json"]
                .iter()
                .all(|file| grades.join(&name).join(file).is_file()),
            // The printed table cuts long names.
            run()
                .output
                .lines()
                .any(|l| l.starts_with(&name[..name.len().min(30)])),
        ];
        if found.contains(&false) {
            lost.push(format!("{name}: {found:?}"));
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

/// The submissions of the class, without hidden folders.
fn names(all: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(all).unwrap().map(Result::unwrap);
    let names = entries.map(|e| e.file_name().into_string().unwrap());
    let stem = |n: String| n.trim_end_matches(".tar.gz").to_owned();
    names.filter(|n| !n.starts_with('.')).map(stem).collect()
}

#[test]
fn what_could_not_be_graded_has_a_reason_and_no_mark() {
    if !is_run() {
        return;
    }
    let name = "does-not-start";
    let grade = grade(name);
    assert_eq!((grade.status, grade.lessons.len()), (Status::NotGraded, 0));
    let reason = grade.reason.unwrap();
    assert!(reason.contains("the checks did not start"), "{reason}");
    let read = |path: &str| fs::read_to_string(run().grades.join(path)).unwrap();
    let row = |sheet: &str| {
        let text = read(sheet);
        let row = text.lines().find(|l| l.starts_with(name));
        row.unwrap().to_owned()
    };
    assert!(row("marks.csv").contains(",not graded,"), "{}", row("marks.csv"));
    assert!(!read(&format!("{name}/results.json")).contains("\"score\""));
    // In the gradebook of a platform, an empty cell is not 0.
    let moodle = row("moodle.csv");
    let start = format!("{name},{name},,,,");
    assert!(
        moodle.starts_with(&start) && moodle.contains("did not start"),
        "{moodle}"
    );
    assert_eq!(row("canvas.csv"), format!("{name},,{name},,,"));
}

#[test]
fn the_graders_own_files_do_not_hide_a_submission() {
    if !is_run() {
        return;
    }
    all_right_without("mimics-grades", &["grade.json"]);
    let skipped = run().output.lines().filter(|l| l.starts_with("skipped: "));
    let skipped: Vec<&str> = skipped.collect();
    assert!(
        matches!(skipped[..], [one] if one.contains("/.is-hidden, because its name is that of a hidden file")),
        "{skipped:?}"
    );
}

#[test]
fn an_interrupt_costs_no_row() {
    if !is_run() {
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let (class, out) = (base.path().join("class"), base.path().join("grades"));
    let endless = HONEST.replace("activation(sum + bias)", "loop { std::hint::spin_loop() }");
    for (name, text) in [("anna", HONEST), ("ben", &endless), ("cem", HONEST)] {
        put(&class.join(name), SOURCE, text);
    }
    let grade = || {
        let mut command = Command::new(course());
        command
            .args(["grade", "--jobs", "1", "--out"])
            .arg(&out)
            .arg(&class);
        command.current_dir(root());
        command
    };
    let mut running = grade()
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut progress = BufReader::new(running.stderr.take().unwrap()).lines();
    assert!(progress.any(|line| line.unwrap().starts_with("1 of 3")));
    let id = running.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let rest: Vec<String> = progress.map(Result::unwrap).collect();
    let stopped = running.wait_with_output().unwrap();
    let table = String::from_utf8_lossy(&stopped.stdout);
    assert_eq!(stopped.status.code(), Some(1), "{table}\n{rest:?}");
    assert_eq!(table.matches("not yet").count(), 2, "{table}");
    let load = |name: &str| Grade::load(&out.join(name).join("grade.json")).unwrap();
    for name in ["ben", "cem"] {
        assert_eq!(load(name).status, Status::NotGraded);
        assert!(load(name).reason.unwrap().contains("interrupted"));
    }
    let rows = |sheet: PathBuf| fs::read_to_string(sheet).unwrap().lines().count();
    assert_eq!(rows(out.join("marks.csv")), 4);
    put(&class.join("ben"), SOURCE, HONEST);
    assert!(grade().status().unwrap().success());
    let points = ["anna", "ben", "cem"].map(|name| load(name).points());
    assert_eq!(points, [12; 3]);
}
