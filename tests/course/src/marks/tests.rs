use grader::grades::LessonGrade;
use serde_json::Value;

use super::{
    samples::{self, HOSTILE},
    *,
};
use crate::late;

/// The samples as a folder of grades.
fn graded() -> (tempfile::TempDir, PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    // To look at the files, set CANOPY_MARKS to a folder for them.
    let named = std::env::var_os("CANOPY_MARKS").map(PathBuf::from);
    let dir = named.unwrap_or(temporary.path().to_owned());
    for grade in samples::class() {
        let name = &grade.submission;
        let folder = dir.join(if name == HOSTILE { "=h,\"<b>" } else { name });
        fs::create_dir_all(&folder).unwrap();
        grade.save(&folder.join("grade.json")).unwrap();
    }
    (temporary, dir)
}

#[test]
fn every_file_has_every_submission_and_no_hostile_text() {
    let (_kept, dir) = graded();
    write_all(&dir).unwrap();
    let read = |path: &str| fs::read_to_string(dir.join(path)).unwrap();
    for (sheet, count) in [("marks.csv", 7), ("canvas.csv", 8)] {
        let mut reader = csv::Reader::from_path(dir.join(sheet)).unwrap();
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), count, "{sheet}");
        for cell in rows.iter().flatten() {
            let hostile = ['\n', '\u{0}', '\u{202e}'];
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t']) && !cell.contains(hostile));
        }
    }
    let marks = read("marks.csv");
    for row in [
        "submission,name,id,login,email,status,1.1,1.2,1.3,Lesson 01: Gradient descent by hand,points,of,late_percent,",
        "ben,,,,,graded,1,3,0,3.2,4,6,20,3.2,4 of 6 points; 20 % deducted for lateness; 1.3 wrong: stays finite for",
        "frida,,,,,graded,1,3,0,4,4,6,unknown,4,",
        "eve,,,,,graded,0,0,0,0,0,6,,0,0 of 6 points; 1.1 not run; 1.2 not run; 1.3 not run,lesson 01: error[E0425]",
        // No mark is an empty cell, not 0.
        "cem,,,,,could not be read,,,,,,,,,could not be read,\"could not be read, because it is damaged\",",
    ] {
        assert!(marks.lines().any(|line| line.starts_with(row)), "{row}: {marks}");
    }
    let (index, hostile) = (read("index.html"), read("=h,\"<b>/grade.html"));
    // The link leads to the folder.
    assert!(index.contains("\"%3Dh%2C%22%3Cb%3E/grade.html\""), "{index}");
    assert!(hostile.contains("script-src 'none'") && !hostile.contains("<script"));
    for page in [&index, &hostile] {
        assert!(page.contains("&lt;img") && !page.contains("<img"), "{page}");
        assert!(!page.contains(['\u{0}', '\u{1b}', '\u{202e}']) && page.len() < 100_000);
    }
    let grades: Vec<Grade> = serde_json::from_str(&read("marks.json")).unwrap();
    for grade in grades.iter().filter(|g| g.submission != HOSTILE) {
        let [gradescope, github] = ["results.json", "classroom.json"].map(|file| {
            let text = read(&format!("{}/{file}", grade.submission));
            serde_json::from_str::<Value>(&text).unwrap()
        });
        assert_eq!(gradescope.get("score").and_then(Value::as_f64), mark(grade));
        let tests = github["tests"].as_array().unwrap();
        let sum: f64 = tests.iter().map(|t| t["score"].as_f64().unwrap()).sum();
        assert!((sum - grade.mark()).abs() < 1e-9, "{github}");
        let status = match &*grade.submission {
            "anna" => "pass",
            "cem" | "dana" => "error",
            _ => "fail",
        };
        // With `max_score` 0, the reporter writes no points.
        let (max, is_error) = (&github["max_score"], status == "error");
        assert!(github["status"] == status && (max == 0) == is_error, "{github}");
        assert_eq!(github.to_string().contains("it is damaged"), is_error);
    }
}

#[test]
fn a_file_that_cannot_be_read_or_written_stops_no_other() {
    let (_kept, dir) = graded();
    for blocked in ["anna/grade.html", "marks.csv"] {
        fs::create_dir_all(dir.join(blocked).join("x")).unwrap();
    }
    fs::write(dir.join("eve/grade.json"), "{").unwrap();
    let other = fs::read_to_string(dir.join("anna/grade.json")).unwrap();
    let other = other.replace("\"schema\": 2", "\"schema\": 3");
    fs::write(dir.join("dana/grade.json"), other).unwrap();
    let class = Class::load(&dir).unwrap();
    assert_eq!((class.entries.len(), class.damaged.len()), (7, 2));
    assert!(class.damaged[0].contains("schema 3"), "{:?}", class.damaged);
    let error = write(&class, &dir).unwrap_err().to_string();
    let named = ["anna/grade.html", "marks.csv"].map(|name| error.contains(name));
    assert_eq!(named, [true; 2], "{error}");
    let mut files = fs::read_dir(&dir)
        .unwrap()
        .chain(fs::read_dir(dir.join("anna")).unwrap());
    assert!(files.all(|file| file.unwrap().path().extension().is_none_or(|e| e != "tmp")));
    let index = fs::read_to_string(dir.join("index.html")).unwrap();
    assert!(index.contains("is not a grade") && dir.join("ben/grade.html").is_file());
    assert!(Class::load(&dir.join("anna")).is_err(), "a folder without grades");
}

#[test]
fn the_table_stays_within_eighty_columns_and_shows_every_state() {
    let (_kept, dir) = graded();
    let mut class = Class::load(&dir).unwrap();
    // All lessons, each with as many points as two digits show.
    let lesson = class.entries[1].grade.lessons[0].clone();
    let more = (2..=13).map(|n| LessonGrade {
        lesson: format!("{n:02}"),
        ..lesson.clone()
    });
    class.entries[1].grade.lessons.extend(more);
    let table = table::table(&class);
    for line in table.lines() {
        assert!(line.chars().count() <= 80 && !line.contains('\u{1b}'), "{line}");
    }
    for part in "full part no mark refused stopped −20 3.2 4/6 ? 7 submissions".split(' ') {
        assert!(table.contains(part), "{part}: {table}");
    }
}

/// The student of a submission `a17` of which the platform says `said`, in a roster.
fn signed(roster: &str, said: [&str; 3]) -> Result<Grade> {
    let roster = Roster::parse(roster.as_bytes())?;
    let mut grade = samples::graded("a17", 3);
    let student = &mut grade.origin.student;
    [student.name, student.canvas, student.login] = said.map(str::to_owned);
    roster.sign(&mut grade);
    Ok(grade)
}

#[test]
fn rosters_of_platforms_and_spreadsheets_identify_the_student() {
    let page = include_str!("../../../../book/src/instructors-marks.md");
    let (_, own) = page.split_once("```csv\n").unwrap();
    let own = own.split("```").next().unwrap();
    let moodle = "\u{feff}First name;Last name;ID number\r\nAnna;van der Berg;0042\r\nBen;Li;8\r\n";
    let canvas = "Student,ID,SIS User ID,SIS Login ID,Section,Lesson 01 (4711)\n    Points Possible,,,,,12\n\
        \"van der Berg, Anna\",31,0042,anna7,A,\n\"Li, Ben\",32,8,ben8,A,\n";
    let github =
        "\"identifier\",\"github_username\",\"github_id\",\"name\"\n\"0042\",\"annax\",\"123\",\"\"\n";
    for (roster, said) in [
        (own, ["", "", ""]),
        (moodle, ["Anna van der Berg", "", ""]),
        (canvas, ["vanderberganna", "31", ""]),
        (github, ["", "", "AnnaX"]),
    ] {
        let grade = signed(roster, said).unwrap();
        assert_eq!(grade.origin.student.id, "0042", "{roster}");
    }
    let grade = signed(own, ["", "", ""]).unwrap();
    assert_eq!(grade.submitted, late::instant("2026-11-20T22:41:00Z").ok());
    let twice = signed("name,id\nBen Li,1\nBen Li,2\n", ["Ben Li", "", ""]).unwrap();
    assert_eq!(twice.origin.student.id, "", "two students have this name");
    for (roster, expected) in [
        ("grade\nx\n", "row 2: no column identifies"),
        ("submission,submitted\na,yesterday\n", "row 2: a time is written"),
        ("submission,name\na\n", "found record with 1 field"),
    ] {
        let error = format!("{:#}", signed(roster, ["", "", ""]).unwrap_err());
        assert!(error.contains(expected), "{roster:?}: {error}");
    }
}

#[test]
fn exports_contain_the_students_of_the_roster_and_the_others_are_reported() {
    let (_kept, dir) = graded();
    let roster = "submission,name,id,login,canvas,section\nanna,\"Example, Anna\",007,anna7,31,A\n,Zoe,9,zoe9,33,A\n,Bo,4,bo4,,\n";
    let roster = Roster::parse(roster.as_bytes()).unwrap();
    let mut class = Class::load(&dir).unwrap();
    // Ben and Cem have the name of a third student. If both had the row, one would get the mark of the other.
    for entry in &mut class.entries {
        if ["ben", "cem"].contains(&&*entry.folder) {
            entry.grade.origin.student.name = "Bo".into();
        }
    }
    let unmatched = roster.complete_all(&mut class);
    assert_eq!(unmatched.len(), 7, "{unmatched:?}");
    for line in [
        "dana is not in the roster",
        "cem has the same row",
        "Zoe of the roster handed in nothing",
    ] {
        assert!(unmatched.iter().any(|l| l.starts_with(line)), "{unmatched:?}");
    }
    assert_eq!(
        sheets::canvas(&class).unwrap(),
        "Student,ID,SIS User ID,SIS Login ID,Section,Lesson 01: Gradient descent by hand\nPoints Possible,,,,,6\n\
         \"Example, Anna\",31,007,anna7,A,6\n"
    );
    assert_eq!(sheets::marks(&class).unwrap().lines().count(), 2);
}
