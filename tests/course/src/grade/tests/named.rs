use super::*;

/// A class in a folder: files by path; `.tar` and the like are empty, because only names matter here.
fn class_of(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let folder = fs::canonicalize(dir.path()).unwrap().join("class");
    for file in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "//! Lesson 01: x.\n").unwrap();
    }
    (dir, folder)
}

fn found(given: &Path) -> Vec<Submission> {
    found_and_skipped(given).0
}

/// The submissions, and what was skipped, without the path of the test's folder.
fn found_and_skipped(given: &Path) -> (Vec<Submission>, Vec<String>) {
    let base = given.parent().unwrap();
    let (out, unpacked) = (base.join("class/graded"), base.join("unpacked"));
    let mut skipped = BTreeSet::new();
    let all = submissions(&[given.to_owned()], &out, &unpacked, &mut skipped).unwrap();
    let skipped = skipped
        .iter()
        .map(|line| line.replace(&format!("{}/", base.display()), ""));
    (all, skipped.collect())
}

/// Name of the submission, name of the student, number of files.
fn listed(files: &[&str]) -> Vec<(String, String, usize)> {
    let (_kept, folder) = class_of(files);
    let row = |s: Submission| {
        let student = [s.student.name, s.student.login].concat();
        (s.name, student, s.paths.len())
    };
    found(&folder).into_iter().map(row).collect()
}

fn row(name: &str, student: &str, paths: usize) -> (String, String, usize) {
    (name.into(), student.into(), paths)
}

#[test]
fn students_are_known_by_the_names_that_platforms_write() {
    let moodle = [
        "Anna Example_12_assignsubmission_file_/submission.tar.gz",
        "Anna Example_12_assignsubmission_onlinetext_/onlinetext.html",
        "Ben Li_13_assignsubmission_file_/a/lesson01/src/lib.rs",
    ];
    let expected = [
        row("Anna Example_12", "Anna Example", 2),
        row("Ben Li_13", "Ben Li", 1),
    ];
    assert_eq!(listed(&moodle), expected);
    // The browser unpacked it into a folder of the download's name.
    assert_eq!(
        listed(&moodle.map(|f| format!("C-1-77/{f}")).each_ref().map(|f| &**f)),
        expected
    );
    let flat = [
        "Anna Example_12_assignsubmission_file_a.zip",
        "Ben Li_13_assignsubmission_file_lib.rs",
    ];
    assert_eq!(
        listed(&flat),
        [
            row("Anna Example_12", "Anna Example", 1),
            row("Ben Li_13", "Ben Li", 1)
        ]
    );
    let canvas = [
        "exampleanna_31_771_a.zip",
        "exampleanna_31_772_notes.pdf",
        "liben_LATE_32_773_lib-1.rs",
    ];
    assert_eq!(
        listed(&canvas),
        [
            row("exampleanna_31", "exampleanna", 2),
            row("liben_32", "liben", 1)
        ]
    );
    let only_alike = ["hw_1_2_anna.zip", "hw_1_2_ben.zip"];
    assert_eq!(
        listed(&only_alike),
        [row("hw_1_2_anna", "", 1), row("hw_1_2_ben", "", 1)]
    );
    let clones = [
        "l1-anna/.git/config",
        "l1-anna/exercises/lesson01/src/lib.rs",
        "l1-ben/.git/config",
    ];
    assert_eq!(
        listed(&clones),
        [row("l1-anna", "anna", 1), row("l1-ben", "ben", 1)]
    );
}

#[test]
fn downloads_of_several_platforms_may_be_in_one_folder() {
    let files = [
        "moodle/Anna Example_12_assignsubmission_file_/a.tar.gz",
        "l1-submissions/l1-ben/.git/config",
        "canvas/submissions/licem_32_773_a.zip",
        "canvas/submissions/dana_33_774_lib.rs",
    ];
    let names = |files: &[&str]| {
        listed(files)
            .into_iter()
            .map(|(name, ..)| name)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&files),
        ["dana_33", "licem_32", "l1-ben", "Anna Example_12"]
    );
}

#[test]
fn a_student_cannot_hand_in_for_another() {
    let eve = "eve/Anna Example_12_assignsubmission_file_/lib.rs";
    assert_eq!(
        listed(&["anna/lib.rs", eve, "eve/x_1_2_a.zip"]),
        [row("anna", "", 1), row("eve", "", 1)]
    );
    let (_kept, folder) = class_of(&["anna.zip"]);
    let mut zip = zip::ZipWriter::new(fs::File::create(folder.join("eve.zip")).unwrap());
    zip.start_file(&eve[4..], zip::write::SimpleFileOptions::default())
        .unwrap();
    zip.finish().unwrap();
    let names = |given: &[PathBuf]| -> Vec<String> {
        let (out, unpacked) = (folder.join("graded"), folder.join("unpacked"));
        let all = submissions(given, &out, &unpacked, &mut BTreeSet::new()).unwrap();
        all.into_iter().map(|s| s.name).collect()
    };
    assert_eq!(names(std::slice::from_ref(&folder)), ["anna", "eve"]);
    assert_eq!(
        names(&[folder.join("anna.zip"), folder.join("eve.zip")]),
        ["anna", "eve"]
    );
}

#[test]
fn an_export_of_gradescope_has_owners_and_times() {
    let (_kept, folder) = class_of(&[
        "assignment_1_export/submission_7/lib.rs",
        "assignment_1_export/submission_8/a.zip",
    ]);
    let text = "submission_7:\n  :submitters:\n  - :name: Anna\n  :created_at: 2026-11-20 22:41:00.1 Z\n";
    let metadata = folder.join("assignment_1_export/submission_metadata.yml");
    fs::write(&metadata, format!("{text}submission_9: {{}}\n")).unwrap();
    let (all, skipped) = found_and_skipped(&folder);
    assert!(
        skipped.iter().any(|line| line.contains("submission_9")),
        "{skipped:?}"
    );
    assert_eq!(
        (all.len(), &*all[0].student.name, &*all[1].name),
        (2, "Anna", "submission_8")
    );
    assert_eq!(all[0].time, crate::late::instant("2026-11-20T22:41:00Z").ok());
    fs::write(&metadata, "a: [").unwrap();
    let none = Path::new("/nonexistent");
    let error = submissions(&[folder], none, none, &mut BTreeSet::new()).unwrap_err();
    let error = format!("{error:#}");
    assert!(
        error.contains("submission_metadata.yml cannot be read"),
        "{error}"
    );
}

#[test]
fn an_autograder_says_whose_submission_it_is() {
    let (_kept, folder) = class_of(&["submission/submission.tar.gz", "submission/notes.txt"]);
    let text = r#"{"created_at": "2026-11-20T14:41:00.000000-08:00", "users": [{"name": "Anna", "email": "a@x.org", "sid": null}]}"#;
    fs::write(folder.join("submission_metadata.json"), text).unwrap();
    let all = found(&folder.join("submission"));
    assert_eq!(
        (all.len(), &*all[0].student.email, &*all[0].name),
        (1, "a@x.org", "submission")
    );
    assert_eq!(all[0].time, crate::late::instant("2026-11-20T22:41:00Z").ok());
}

#[test]
fn a_class_may_be_one_archive() {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    let zip = |name: &str, files: &[&str]| {
        let mut zip = zip::ZipWriter::new(fs::File::create(base.join(name)).unwrap());
        for file in files {
            zip.start_file(*file, zip::write::SimpleFileOptions::default())
                .unwrap();
        }
        zip.finish().unwrap();
        let all = found(&base.join(name)).into_iter().map(|s| s.name);
        all.collect::<Vec<String>>()
    };
    let moodle = [
        "Anna_1_assignsubmission_file_/a.tar.gz",
        "../Ben_2_assignsubmission_file_/up.rs",
        "Cem_3_assignsubmission_file_/lib.rs",
        "Dana_4_assignsubmission_file_/.git/config",
    ];
    assert_eq!(zip("moodle.zip", &moodle), ["Anna_1", "Cem_3", "Dana_4"]);
    assert!(!base.join("Ben_2_assignsubmission_file_").exists());
    fs::remove_dir_all(base.join("unpacked")).unwrap();
    let folders = [
        "all/anna/exercises/lesson01/src/lib.rs",
        "all/ben/lesson01/src/lib.rs",
        "__MACOSX/._all",
    ];
    assert_eq!(zip("class.zip", &folders), ["anna", "ben"]);
    fs::remove_dir_all(base.join("unpacked")).unwrap();
    assert_eq!(zip("archives.ZIP", &["anna.zip", "ben.tar.gz"]), ["anna", "ben"]);
    let one = [
        "anna/exercises/lesson01/src/lib.rs",
        "anna/exercises/lesson02/src/lib.rs",
    ];
    assert_eq!(zip("anna.zip", &one), ["anna"]);
    assert_eq!(zip("ben.zip", &["lesson01.tar.gz", "lesson02.tar.gz"]), ["ben"]);
}

#[test]
fn what_is_not_a_submission_is_skipped_with_a_reason() {
    let (_kept, folder) = class_of(&[
        "anna/lesson01/src/lib.rs",
        "ben.csv/lib.rs",
        "graded/anna/grade.json",
        "older/.seed",
        "older/marks.csv",
        "older/anna/grade.json",
        "older/anna/grade.html",
        "roster.csv",
        ".eve/lib.rs",
        ".DS_Store",
        "__MACOSX/._anna",
    ]);
    let (all, skipped) = found_and_skipped(&folder);
    let names: Vec<String> = all.into_iter().map(|s| s.name).collect();
    assert_eq!(names, ["anna", "ben.csv"]);
    assert_eq!(
        skipped,
        [
            "class/.DS_Store, because a file manager wrote it",
            "class/.eve, because its name begins with a dot; rename it to grade it",
            "class/__MACOSX, because a file manager wrote it",
            "class/graded, because the grades are written there",
            "class/older, because it contains grades, and no answers",
            "class/roster.csv, because a table or metadata is not a submission",
        ]
    );
    let (_kept, folder) = class_of(&["empty/graded/x"]);
    let out = folder.join("empty/graded");
    assert!(submissions(&[folder.join("empty")], &out, &folder, &mut BTreeSet::new()).is_err());
}

#[test]
fn a_student_cannot_disappear_behind_our_own_files() {
    let (_kept, folder) = class_of(&[
        "anna/.seed",
        "anna/lib.rs",
        "ben/x/.seed",
        "ben/x/lesson01/src/lib.rs",
        // Beside answers, and in their place.
        "cem/.seed",
        "cem/cem/grade.json",
        "cem/cem/lesson01/src/lib.rs",
        "dana/.seed",
        "dana/notes.txt",
        "exampleeve_31_772_eve.csv",
        "fay/graded/x",
        "fay/work.zip",
    ]);
    let mut skipped = BTreeSet::new();
    let out = folder.join("fay/graded");
    let all = submissions(std::slice::from_ref(&folder), &out, &out, &mut skipped).unwrap();
    let names: Vec<String> = all.into_iter().map(|s| s.name).collect();
    assert_eq!(names, ["anna", "ben", "cem", "dana", "exampleeve_31", "fay"]);
    assert!(skipped.is_empty(), "{skipped:?}");
}

#[test]
fn an_archive_of_a_class_reports_what_is_not_unpacked() {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    let path = base.join("class.zip");
    let mut zip = zip::ZipWriter::new(fs::File::create(&path).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    for file in [
        "anna/lesson01/src/lib.rs",
        "../ben/lib.rs",
        "cem/lesson01/src/lib.rs",
        "__MACOSX/._x",
    ] {
        zip.start_file(file, options).unwrap();
    }
    zip.add_directory("dana", options).unwrap();
    zip.add_symlink("eve/lib.rs", "/etc/passwd", options).unwrap();
    zip.add_symlink("fay", "/etc", options).unwrap();
    zip.finish().unwrap();
    let (all, skipped) = found_and_skipped(&path);
    let names: Vec<String> = all.into_iter().map(|s| s.name).collect();
    assert_eq!(names, ["anna", "cem", "dana", "eve"]);
    assert_eq!(
        skipped,
        [
            "class.zip/../ben/lib.rs, because its path leaves the archive",
            "class.zip/__MACOSX, because a program or a file manager wrote it",
            "class.zip/eve/lib.rs, because it is a link",
            "class.zip/fay, because it is a link",
        ]
    );
}

#[test]
fn names_are_folders_of_their_own() {
    let files = [
        "index.html/lib.rs",
        "Marks.csv/lib.rs",
        "grade.json.zip",
        "a\u{202e}b.zip",
        "a_b.tar",
        "a_b.zip",
        "a_b~2.zip",
        "Anna.zip",
        "anna.tar",
    ];
    let names: Vec<String> = listed(&files).into_iter().map(|(name, ..)| name).collect();
    // Some file systems do not distinguish upper and lower case.
    let unique: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(unique.len(), files.len(), "{names:?}");
    for name in &names {
        assert!(!marks::OWN.contains(&&*name.to_lowercase()), "{name}");
        assert!(
            name.chars().all(|c| !c.is_control() && c != '\u{202e}'),
            "{name:?}"
        );
    }
    assert_eq!(folder_name(".work"), "_work");
    assert_eq!((&*folder_name(".."), &*folder_name("")), ("_", "_"));
    assert_eq!(folder_name("a/../b:c"), "a_.._b_c");
    assert!(folder_name(&"李".repeat(300)).len() <= 200);
}
