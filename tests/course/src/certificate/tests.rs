use grader::grades::{Course, ExerciseGrade, LessonGrade, SCHEMA};
use proptest::prelude::*;

use super::*;
use crate::certificate::seal::{Verdict, verdict};

fn statement(name: &str) -> Statement {
    let won = |lesson: &str, title: &str, points| Won {
        lesson: lesson.into(),
        title: title.into(),
        points,
    };
    Statement {
        name: name.into(),
        lessons: vec![
            won("01", "Gradient descent by hand", 12),
            won("02", "A network (of points)", 14),
        ],
        date: "2026-11-21".into(),
        version: "0.1.0".into(),
        course: "ab".repeat(32),
        submission: "cd".repeat(32),
    }
}

fn signer(seed: u8) -> ed25519_dalek::SigningKey {
    ed25519_dalek::SigningKey::from_bytes(&[seed; 32])
}

fn signed(name: &str) -> Vec<u8> {
    let key = signer(7);
    seal::sealed(page::html(&statement(name), &key::public(&key)).unwrap(), &key)
}

#[test]
fn a_signed_page_is_valid_and_contains_the_statement() {
    for name in ["Anna Müller", "李 Ŵ", "</script><b>\"x\" & 'y'", "O’Brien (2)"] {
        let valid = Verdict::Valid(Box::new(statement(name)));
        assert_eq!(verdict(&signed(name), &signer(7).verifying_key()).unwrap(), valid);
    }
}

#[test]
fn another_key_is_distinguished_from_a_change() {
    let page = signed("Anna");
    let other = verdict(&page, &signer(8).verifying_key()).unwrap();
    assert_eq!(other, Verdict::OtherKey(key::public(&signer(7))));
    // Signed with another key, but with our key beside it.
    let text = String::from_utf8(page).unwrap();
    let [ours, theirs] = [7, 8].map(|seed| key::public(&signer(seed)));
    let forged = text.replace(&ours, &theirs);
    assert_eq!(
        verdict(forged.as_bytes(), &signer(8).verifying_key()).unwrap(),
        Verdict::Changed
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_change_of_a_page_is_detected(at in any::<prop::sample::Index>(), to in any::<u8>(), end in "[ -~\n]{0,40}") {
        let page = signed("Anna Müller");
        let key = signer(7).verifying_key();
        let mut changed = page.clone();
        let at = at.index(page.len());
        changed[at] = to;
        let appended = [&page[..], end.as_bytes()].concat();
        for bytes in [&changed, &appended, &page[..at].to_vec(), &[&page[..], &signed("Eve")].concat()] {
            let valid = matches!(verdict(bytes, &key), Ok(Verdict::Valid(_)));
            prop_assert!(!valid || *bytes == page, "byte {at} to {to}");
        }
    }
}

const LESSON: &str = "lesson = \"01\"\ntitle = \"T\"\nminutes = 1\nchapter = \"c\"\n[[exercise]]\nid = \"1.1\"\ntitle = \"Double\"\n\
    points = 2\nfunction = \"f\"\nsolution = \"s\"\nanswer = \"f\"\nhints = []\n[[exercise]]\nid = \"1.2\"\ntitle = \"Halve\"\n\
    points = 3\nfunction = \"g\"\nsolution = \"s\"\nanswer = \"g\"\nhints = []\n";

fn grade(points: [(u32, u32); 2]) -> Grade {
    let exercises = points
        .iter()
        .zip(["1.1", "1.2"])
        .map(|((points, of), id)| ExerciseGrade {
            id: id.into(),
            title: id.into(),
            points: *points,
            of: *of,
            checks: Vec::new(),
            remark: None,
        });
    Grade {
        schema: SCHEMA,
        submission: "anna".into(),
        origin: Default::default(),
        submitted: None,
        digest: "d".into(),
        course: Course::default(),
        status: Status::Graded,
        reason: None,
        left_out: Vec::new(),
        lessons: vec![LessonGrade {
            lesson: "01".into(),
            title: "T".into(),
            stopped: None,
            exercises: exercises.collect(),
        }],
        late: None,
        seed: 0,
        seconds: 0.0,
        sandbox: Default::default(),
    }
}

#[test]
fn only_all_points_of_a_lesson_are_certified() {
    let lessons = [Lesson {
        manifest: grader::Manifest::parse(LESSON).unwrap(),
        stubs: String::new(),
    }];
    let ask = |grade: &Grade| won(grade, &lessons, &["1".into()]).unwrap();
    assert_eq!(ask(&grade([(2, 2), (3, 3)])).unwrap()[0].points, 5);
    assert_eq!(
        ask(&grade([(2, 2), (0, 3)])).unwrap_err(),
        ["1.2 Halve: 0 of 3 points"]
    );
    // The grade gives an exercise fewer points than the course, lacks it, or is of a submission that was refused.
    assert_eq!(
        ask(&grade([(2, 2), (1, 1)])).unwrap_err(),
        ["1.2 Halve: 1 of 3 points"]
    );
    let mut part = grade([(2, 2), (3, 3)]);
    part.lessons[0].exercises.pop();
    assert_eq!(ask(&part).unwrap_err(), ["1.2 Halve: 0 of 3 points"]);
    let mut refused = grade([(2, 2), (3, 3)]);
    refused.status = Status::Refused;
    assert!(ask(&refused).is_err());
    let full = grade([(2, 2), (3, 3)]);
    assert!(won(&full, &lessons, &["07".into()]).is_err());
    assert!(won(&full, &lessons, &["01".into(), "1".into()]).is_err());
}

#[test]
fn a_key_is_created_once_with_mode_600_and_reads_back() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("instructor.key");
    key::run(&key::Task::New { file: file.clone() }).unwrap();
    let made = key::load(&file).unwrap();
    let again = format!(
        "{:#}",
        key::run(&key::Task::New { file: file.clone() }).unwrap_err()
    );
    assert!(again.contains("exists already"), "{again}");
    assert_eq!(key::load(&file).unwrap().to_bytes(), made.to_bytes());
    let printed = key::public(&made);
    assert_eq!(key::read_public(&printed).unwrap(), made.verifying_key());
    let beside = dir.path().join("instructor.key.pub");
    assert_eq!(
        key::read_public(beside.to_str().unwrap()).unwrap(),
        made.verifying_key()
    );
    for odd in [
        "",
        "abc",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        file.to_str().unwrap(),
    ] {
        assert!(key::read_public(odd).is_err(), "{odd}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let error = key::load(&file).unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }
}
