use grader::grades::{Grade, Late, SCHEMA, Status};
use serde_json::{Value, json};

use super::*;
use crate::late;

/// Markup, a formula, quotes, control characters, a reversed name.
const HOSTILE: &str =
    "=cmd|' /C calc'!A0,\"x\"\n<img src=x onerror=alert(1)>\u{0}\u{1b}[31m]]>&amp;\u{202e}</script>\u{fffe}";

/// A graded submission of lesson 01, whose first `won` exercises are right; the next is wrong, the others to do.
pub fn graded(name: &str, won: usize) -> Grade {
    let all = [("A neuron", 1), ("Stable cross-entropy", 3), ("Momentum", 2)];
    let exercise = |(i, (title, of)): (usize, (&str, u32))| {
        let (points, word, report) = match i {
            i if i < won => (of, "right", ""),
            i if i == won => (0, "wrong", "expected  1000\ngot       inf\n"),
            _ => (0, "to do", ""),
        };
        let check = json!({ "name": "stays_finite_for_huge_logits", "word": word, "report": report });
        json!({ "id": format!("1.{}", i + 1), "title": title, "points": points, "of": of, "checks": [check] })
    };
    let exercises: Vec<Value> = all.into_iter().enumerate().map(exercise).collect();
    let lesson = json!({ "lesson": "01", "title": "Gradient descent by hand", "exercises": exercises });
    Grade {
        schema: SCHEMA,
        submission: name.into(),
        submitted: Some(1_795_000_000),
        status: Status::Graded,
        lessons: vec![serde_json::from_value(lesson).unwrap()],
        ..Grade::default()
    }
}

/// A folder of grades: one of each kind, and one with hostile text.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let mut class = ["anna", "ben", "cem", "eve", "frida", "=h,\"<b>"].map(|name| graded(name, 2));
    let [anna, ben, cem, eve, frida, hostile] = &mut class;
    *anna = graded("anna", 3);
    let (seconds, percent) = (93_700, 20.0);
    ben.late = Some(Late { seconds, percent });
    (cem.status, cem.reason) = (Status::Unreadable, Some("the archive is damaged".into()));
    cem.lessons.clear();
    eve.lessons[0].stopped = Some("error[E0425]: cannot find value `y`".into());
    for e in &mut eve.lessons[0].exercises {
        e.points = 0;
        e.checks.clear();
    }
    frida.submitted = None;
    frida.origin.late_unknown = Some("nothing says when it was handed in".into());
    hostile.origin.student.name = HOSTILE.into();
    hostile.reason = Some(HOSTILE.into());
    hostile.left_out = vec![HOSTILE.into()];
    hostile.lessons[0].stopped = Some(HOSTILE.into());
    hostile.lessons[0].exercises[2].checks[0].report = format!("{HOSTILE}{}", "x".repeat(500_000));
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().to_owned();
    for grade in class {
        let text = serde_json::to_string(&grade).unwrap();
        put(&dir.join(grade.submission).join("grade.json"), text).unwrap();
    }
    (temporary, dir)
}

#[test]
fn every_file_has_every_submission_and_no_hostile_text() {
    let (_kept, dir) = folder();
    write_all(&dir).unwrap();
    let read = |path: &str| fs::read_to_string(dir.join(path)).unwrap();
    let marks = read("marks.csv");
    for (sheet, count) in [(&marks, 6), (&read("canvas.csv"), 7)] {
        let mut reader = csv::Reader::from_reader(sheet.as_bytes());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), count, "{sheet}");
        for cell in rows.iter().flatten() {
            let hostile = ['\n', '\u{0}', '\u{202e}'];
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t']) && !cell.contains(hostile));
        }
    }
    for row in [
        "submission,name,id,login,email,status,1.1,1.2,1.3,Lesson 01: Gradient descent by hand,points,late_percent,mark,",
        "ben,,,,,graded,1,3,0,3.2,4,20,3.2,4 of 6 points; 20 % deducted for lateness; 1.3 wrong: stays finite for",
        "frida,,,,,graded,1,3,0,4,4,unknown,4,",
        "eve,,,,,graded,0,0,0,0,0,,0,0 of 6 points; 1.1 not run; 1.2 not run; 1.3 not run,lesson 01: error[E0425]",
        // No mark is an empty cell, not 0.
        "cem,,,,,could not be read,,,,,,,,could not be read,the archive is damaged,",
    ] {
        assert!(marks.lines().any(|line| line.starts_with(row)), "{row}: {marks}");
    }
    let (index, hostile) = (read("index.html"), read("=h,\"<b>/grade.html"));
    // The link leads to the folder.
    assert!(index.contains("\"%3Dh%2C%22%3Cb%3E/grade.html\""), "{index}");
    // Of four written answers, the check of 1.3 found three wrong; eve's did not run.
    assert!(index.contains(">1.3 stays finite for huge logits</th>") && index.contains(">3 of 4</td>"));
    assert!(hostile.contains("script-src 'none'") && !hostile.contains("<script"));
    for page in [&index, &hostile] {
        assert!(page.contains("&lt;img") && !page.contains("<img"), "{page}");
        assert!(!page.contains(['\u{0}', '\u{1b}', '\u{202e}']) && page.len() < 100_000);
    }
    let grades: Vec<Grade> = serde_json::from_str(&read("marks.json")).unwrap();
    for grade in &grades {
        let [gradescope, github] = ["results.json", "classroom.json"].map(|file| {
            serde_json::from_str::<Value>(&read(&format!("{}/{file}", grade.submission))).unwrap()
        });
        assert_eq!(gradescope.get("score").and_then(Value::as_f64), mark(grade));
        let tests = github["tests"].as_array().unwrap();
        let sum: f64 = tests.iter().map(|t| t["score"].as_f64().unwrap()).sum();
        assert!((sum - grade.mark()).abs() < 1e-9, "{github}");
        let status = match &*grade.submission {
            "anna" => "pass",
            "cem" => "error",
            _ => "fail",
        };
        // With `max_score` 0, the reporter writes no points.
        let (max, is_error) = (&github["max_score"], status == "error");
        assert!(github["status"] == status && (max == 0) == is_error, "{github}");
        assert_eq!(github.to_string().contains("archive is damaged"), is_error);
    }
}

#[test]
fn a_grade_that_cannot_be_read_is_named() {
    let (_kept, dir) = folder();
    fs::write(dir.join("eve/grade.json"), "{").unwrap();
    let error = format!("{:#}", write_all(&dir).unwrap_err());
    assert!(error.contains("eve/grade.json is not a grade"), "{error}");
    assert!(Class::load(&dir.join("anna")).is_err(), "a folder without grades");
}

/// The submission `a17` of which the platform says `said`, completed by a roster.
fn signed(roster: &str, said: [&str; 3]) -> Result<Grade> {
    let roster = Roster::parse(roster.as_bytes())?;
    let mut grade = graded("a17", 3);
    let student = &mut grade.origin.student;
    [student.name, student.canvas, student.login] = said.map(str::to_owned);
    roster.sign(&mut grade);
    Ok(grade)
}

#[test]
fn rosters_of_platforms_and_spreadsheets_identify_the_student() {
    let page = include_str!("../../../../book/src/instructors-marks.md");
    let own = &page[page.find("name,email").unwrap()..];
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
        assert_eq!(
            signed(roster, said).unwrap().origin.student.id,
            "0042",
            "{roster}"
        );
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
    let (_kept, dir) = folder();
    let roster = "submission,name,id,login,canvas,section\nanna,\"Example, Anna\",007,anna7,31,A\n,Zoe,9,zoe9,33,A\n,Bo,4,bo4,,\n";
    let roster = Roster::parse(roster.as_bytes()).unwrap();
    let mut class = Class::load(&dir).unwrap();
    // Ben and Cem have the name of a third student. If both had the row, one would get the mark of the other.
    for grade in class
        .grades
        .iter_mut()
        .filter(|g| g.submission == "ben" || g.submission == "cem")
    {
        grade.origin.student.name = "Bo".into();
    }
    let unmatched = roster.complete_all(&mut class);
    assert_eq!(unmatched.len(), 6, "{unmatched:?}");
    for line in [
        "eve is not in the roster",
        "cem has the same row",
        "Zoe of the roster handed in nothing",
    ] {
        assert!(unmatched.iter().any(|l| l.starts_with(line)), "{unmatched:?}");
    }
    assert_eq!(
        tables::canvas(&class).unwrap(),
        "Student,ID,SIS User ID,SIS Login ID,Section,Lesson 01: Gradient descent by hand\nPoints Possible,,,,,6\n\
         \"Example, Anna\",31,007,anna7,A,6\n"
    );
    assert_eq!(tables::marks(&class).unwrap().lines().count(), 2);
}
