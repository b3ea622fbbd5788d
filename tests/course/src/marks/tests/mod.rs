mod exports;

use std::collections::BTreeMap;

use serde_json::Value;

use super::samples::{self, HOSTILE};
use super::*;

/// Writes the samples as a folder of grades.
fn put_samples(dir: &Path) {
    for (i, grade) in samples::class().iter().enumerate() {
        let name = match grade.submission.contains('<') {
            true => format!("=h,\"<b>{i}"),
            false => grade.submission.clone(),
        };
        fs::create_dir_all(dir.join(&name)).unwrap();
        grade.save(&dir.join(name).join("grade.json")).unwrap();
    }
}

fn graded() -> (tempfile::TempDir, PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().to_owned();
    put_samples(&dir);
    (temporary, dir)
}

fn class() -> Class {
    let (_kept, dir) = graded();
    Class::load(&dir).unwrap()
}

fn records(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|r| r.unwrap()).collect()
}

#[test]
fn every_format_is_written_and_reads_back() {
    let (_kept, mut dir) = graded();
    // To look at the files, set CANOPY_MARKS to a folder for them.
    if let Some(kept) = std::env::var_os("CANOPY_MARKS") {
        dir = kept.into();
        put_samples(&dir);
    }
    write_all(&dir).unwrap();
    let read = |path: &str| fs::read_to_string(dir.join(path)).unwrap();
    assert_eq!(records(&read("marks.csv")).len(), 9);
    assert_eq!(records(&read("moodle.csv")).len(), 9);
    assert_eq!(records(&read("canvas.csv")).len(), 10);
    let grades: Vec<Grade> = serde_json::from_str(&read("marks.json")).unwrap();
    assert_eq!(grades.len(), 9);
    for name in ["anna", "cem", "eve"] {
        assert!(read(&format!("{name}/grade.html")).ends_with("</html>\n"));
        for file in ["results.json", "classroom.json"] {
            let _: Value = serde_json::from_str(&read(&format!("{name}/{file}"))).unwrap();
        }
    }
    let again = read("index.html");
    write_all(&dir).unwrap();
    assert_eq!(read("index.html"), again);
}

#[test]
fn a_page_that_cannot_be_written_is_an_error_and_stops_no_other() {
    let (_kept, dir) = graded();
    for blocked in ["anna/grade.html", "marks.csv"] {
        fs::create_dir_all(dir.join(blocked).join("x")).unwrap();
    }
    let error = format!("{:#}", write_all(&dir).unwrap_err());
    assert!(
        error.contains("anna/grade.html") && error.contains("marks.csv"),
        "{error}"
    );
    assert!(dir.join("ben/grade.html").is_file() && dir.join("marks.json").is_file());
}

#[test]
fn an_unknown_lateness_is_shown_and_costs_nothing() {
    let mut class = class();
    class.entries.retain(|e| e.folder == "ben");
    let ben = &mut class.entries[0].grade;
    (ben.submitted, ben.origin.student.name) = (None, "Ben Li".into());
    late::settle(ben, Some((&"50%/hour".parse().unwrap(), 1)));
    let row = &records(&sheets::csv(&class).unwrap())[0];
    assert_eq!(
        (&*row["late_percent"], &*row["mark"], &*row["name"]),
        ("unknown", "6", "Ben Li")
    );
    let grade = &class.entries[0].grade;
    for (format, text) in [
        ("moodle", sheets::moodle(&class, None).unwrap()),
        ("gradescope", gradescope::results(grade).unwrap()),
        ("student", page::student(grade).unwrap()),
        ("class", page::class(&class).unwrap()),
        ("table", table::table(&class, Ink { colour: false })),
    ] {
        assert!(text.contains("unknown"), "{format}: {text}");
    }
    for text in [
        page::student(grade).unwrap(),
        page::class(&class).unwrap(),
        table::table(&class, Ink { colour: false }),
    ] {
        assert!(text.contains("Ben Li"), "{text}");
    }
}

#[test]
fn a_damaged_grade_does_not_stop_the_others() {
    let (_kept, dir) = graded();
    fs::write(dir.join("ben/grade.json"), "{").unwrap();
    fs::write(
        dir.join("cem/grade.json"),
        fs::read_to_string(dir.join("anna/grade.json"))
            .unwrap()
            .replace("\"schema\": 2", "\"schema\": 3"),
    )
    .unwrap();
    let class = Class::load(&dir).unwrap();
    assert_eq!((class.entries.len(), class.damaged.len()), (9, 2));
    assert!(class.damaged[1].1.contains("schema 3"), "{:?}", class.damaged);
    let rows = records(&sheets::csv(&class).unwrap());
    let row = rows.iter().find(|r| r["submission"] == "ben").unwrap();
    assert_eq!((&*row["status"], &*row["mark"]), ("not graded", ""));
    assert!(row["reason"].contains("is not a grade"), "{row:?}");
    assert!(page::class(&class).unwrap().contains("is not a grade"));
    assert_eq!(Class::load(&dir.join("anna")).unwrap().entries.len(), 1);
    let empty = tempfile::tempdir().unwrap();
    assert!(Class::load(empty.path()).is_err());
}

#[test]
fn tables_have_points_penalties_marks_and_empty_cells() {
    let rows = records(&sheets::csv(&class()).unwrap());
    let row = |name: &str| rows.iter().find(|r| r["submission"] == name).unwrap();
    let ben = row("ben");
    assert_eq!(
        (&*ben["points"], &*ben["of"], &*ben["mark"], &*ben["late_percent"]),
        ("6", "11", "4.8", "20")
    );
    assert_eq!(
        (&*ben["1.3"], &*ben["1.4"], &*ben["submitted"]),
        ("2", "0", "2026-11-18T11:06:40Z")
    );
    let cem = row("cem");
    assert_eq!(
        (&*cem["mark"], &*cem["points"], &*cem["status"]),
        ("", "", "could not be read")
    );
    assert_eq!((&*cem["1.1"], &*cem["late_percent"]), ("", ""));
    assert!(cem["reason"].contains("because the archive is damaged"));
    assert!(row("eve")["reason"].contains("cannot find value"));
}

#[test]
fn no_cell_is_a_formula_or_has_two_lines() {
    let class = class();
    for text in [
        sheets::csv(&class),
        sheets::moodle(&class, None),
        sheets::canvas(&class, Some("=HYPERLINK(1)")),
    ] {
        let text = text.unwrap();
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(text.as_bytes());
        let mut cells = 0;
        for record in reader.records() {
            for cell in &record.unwrap() {
                cells += 1;
                assert!(
                    !cell.starts_with(['=', '+', '-', '@', '\t', '\r'])
                        && !cell.contains(['\n', '\u{0}', '\u{1b}', '\u{202e}']),
                    "{cell:?}"
                );
            }
        }
        assert!(cells > 50, "{cells}");
    }
}

#[test]
fn moodle_and_canvas_get_the_columns_that_they_read() {
    let mut class = class();
    class
        .entries
        .retain(|e| ["anna", "ben", "cem"].contains(&&*e.folder));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("class.csv");
    fs::write(&path, "submission,name,email,id,login,canvas,section\nanna,\"Anna, Points Possible\",a@x.org,007,anna7,31,A\nben,Ben,b@x.org,008,ben8,32,A\nzoe,Zoe,z@x.org,9,zoe9,33,A\n").unwrap();
    let roster = Roster::load(&path).unwrap();
    let unmatched = roster.unmatched(&class).join("\n");
    for entry in &mut class.entries {
        entry.listed = roster.sign(&mut entry.grade);
    }
    let moodle = records(&sheets::moodle(&class, None).unwrap());
    assert_eq!(moodle.len(), 2);
    assert_eq!(
        (
            &*moodle[1]["ID number"],
            &*moodle[1]["Email address"],
            &*moodle[1]["Lesson 01: Gradient descent by hand"]
        ),
        ("008", "b@x.org", "4.8")
    );
    assert!(
        moodle[1]["Feedback"].contains("1.4 wrong: stays finite for huge logits"),
        "{moodle:?}"
    );
    let ben = class.entries.iter_mut().find(|e| e.folder == "ben").unwrap();
    ben.grade.lessons[0].stopped = Some("expected `&[f32]`, found `Vec<f32>`".into());
    let feedback = &records(&sheets::moodle(&class, None).unwrap())[1]["Feedback"];
    assert!(
        feedback.contains("`&amp;[f32]`, found `Vec&lt;f32&gt;`"),
        "{feedback}"
    );
    let text = sheets::canvas(&class, Some("Lesson 01 (4711)")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "Student,ID,SIS User ID,SIS Login ID,Section,Lesson 01 (4711)"
    );
    assert_eq!(lines[1], "    Points Possible,,,,,11");
    assert_eq!(lines[2], "\"Anna, Points possible\",31,007,anna7,A,11");
    assert_eq!(lines[3], "Ben,32,008,ben8,A,4.8");
    assert!(
        unmatched.contains("cem is not in the roster")
            && unmatched.contains("Zoe of the roster handed in nothing"),
        "{unmatched}"
    );
}

#[test]
fn penalties_are_computed_without_grading_again() {
    let mut class = class();
    let due = late::rfc3339(1_795_000_000 - 3 * 3_600 - 60);
    let options = |late: &str, grace: &str| Options {
        dir: PathBuf::new(),
        format: Format::Table,
        out: None,
        roster: None,
        column: None,
        due: Some(due.clone()),
        late: Some(late.parse().unwrap()),
        grace: Some(grace.into()),
        cap: Some(30.0),
    };
    let marks = |class: &Class| {
        class
            .entries
            .iter()
            .find(|e| e.folder == "ben")
            .map(|e| e.grade.mark())
            .unwrap()
    };
    recount(&mut class, &Roster::default(), &options("5%/hour", "15m")).unwrap();
    assert!((marks(&class) - 6.0 * 0.8).abs() < 1e-9);
    recount(&mut class, &Roster::default(), &options("20%/hour", "15m")).unwrap();
    assert!((marks(&class) - 6.0 * 0.7).abs() < 1e-9);
    recount(&mut class, &Roster::default(), &options("20%/hour", "1d")).unwrap();
    assert_eq!(marks(&class), 6.0);
    let mut odd = options("20%/hour", "soon");
    assert!(recount(&mut class, &Roster::default(), &odd).is_err());
    (odd.grace, odd.cap) = (None, Some(-1.0));
    assert!(recount(&mut class, &Roster::default(), &odd).is_err());
}

#[test]
fn pages_show_hostile_text_as_text_and_stay_small() {
    let student = page::student(&samples::hostile()).unwrap();
    let index = page::class(&class()).unwrap();
    for page in [&student, &index] {
        assert!(
            !page.contains("<img") && !page.contains("</script>&") && !page.contains("<b>6"),
            "a name became markup"
        );
        assert!(!page.contains(['\u{0}', '\u{1b}', '\u{202e}']));
        assert!(page.contains("&lt;"));
        assert!(page.len() < 300_000, "{} bytes", page.len());
    }
    assert!(student.contains("script-src 'none'") && !student.contains("<script"));
    assert!(
        index.contains("%3Dh%2C%22%3Cb%3E6/grade.html"),
        "a link leads to its folder"
    );
    assert!(HOSTILE.contains("<img"));
}

#[test]
fn the_table_stays_within_eighty_columns_and_shows_every_state() {
    let table = table::table(&class(), Ink { colour: false });
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert!(!line.contains('\u{1b}'));
    }
    for part in [
        "full",
        "part",
        "no mark",
        "refused",
        "stopped",
        "−20 %",
        "4.8",
        "6/11",
        "9 submissions",
        "2 without a mark",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
}
