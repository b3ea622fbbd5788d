use grader::grades::{Course, ExerciseGrade, LessonGrade, SCHEMA};
use proptest::prelude::*;

use super::*;
use crate::certificate::{
    seal::closed,
    verify::{Verdict, verdict},
};

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

/// The two files of one certificate: JSON and page.
fn files(name: &str) -> [Vec<u8>; 2] {
    let (statement, key) = (statement(name), signer(7));
    let sealed = Sealed::new(&statement, &key).unwrap();
    let page = page::html(&sealed, &statement).unwrap().into_bytes();
    [serde_json::to_vec_pretty(&sealed).unwrap(), closed(page, &key)]
}

#[test]
fn each_file_alone_is_valid_and_contains_the_statement() {
    for name in ["Anna Müller", "李 Ŵ", "</script><b>\"x\" & 'y'", "O’Brien (2)"] {
        for bytes in files(name) {
            let valid = Verdict::Valid(Box::new(statement(name)));
            assert_eq!(verdict(&bytes, &signer(7).verifying_key()).unwrap(), valid);
        }
    }
}

#[test]
fn another_key_is_distinguished_from_a_change() {
    for bytes in files("Anna") {
        let other = verdict(&bytes, &signer(8).verifying_key()).unwrap();
        assert_eq!(other, Verdict::OtherKey(key::public(&signer(7))));
    }
    // Signed with another key, but with our key beside it.
    let mut forged = Sealed::new(&statement("Eve"), &signer(8)).unwrap();
    forged.key = key::public(&signer(7));
    let forged = serde_json::to_vec(&forged).unwrap();
    assert!(matches!(
        verdict(&forged, &signer(7).verifying_key()).unwrap(),
        Verdict::Changed(_)
    ));
}

#[test]
fn a_changed_page_around_a_signed_statement_is_detected() {
    let key = signer(7).verifying_key();
    let [_, page] = files("Anna Schmidt");
    let shown = b"<p class=\"name\">Anna Schmidt";
    let at = page.windows(shown.len()).position(|w| w == shown).unwrap() + shown.len() - 8;
    let mut changed = page.clone();
    changed[at..at + 6].copy_from_slice(b"Zzzzzz");
    assert!(matches!(verdict(&changed, &key).unwrap(), Verdict::Changed(what) if what.contains("around it")));
    let appended = [&page[..], b"\n"].concat();
    assert!(matches!(verdict(&appended, &key).unwrap(), Verdict::Changed(_)));
    let [_, other] = files("Eve");
    assert!(verdict(&[page, other].concat(), &key).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_changed_byte_of_a_statement_is_detected(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let good = Sealed::new(&statement("Anna Müller"), &signer(7)).unwrap();
        let mut bytes = good.statement.clone().into_bytes();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        // Once with the old digest, once with the digest of the changed statement.
        let fixed = crate::submission::sha256(text.as_bytes());
        for digest in [good.digest.clone(), fixed] {
            let file = serde_json::to_vec(&Sealed { statement: text.clone(), digest, ..good.clone() }).unwrap();
            let judged = verdict(&file, &signer(7).verifying_key()).unwrap();
            prop_assert!(matches!(judged, Verdict::Changed(_)), "{judged:?}");
        }
    }

    #[test]
    fn every_changed_byte_of_a_page_is_detected(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let [_, mut bytes] = files("Anna Müller");
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        if let Ok(judged) = verdict(&bytes, &signer(7).verifying_key()) {
            prop_assert!(!matches!(judged, Verdict::Valid(_)), "byte {at} to {to}");
        }
    }

    #[test]
    fn verifying_any_bytes_returns(bytes in prop::collection::vec(any::<u8>(), 0..400), file in 0usize..2, cut in any::<prop::sample::Index>()) {
        let whole = files("A")[file].clone();
        let key = signer(7).verifying_key();
        prop_assert!(!matches!(verdict(&bytes, &key), Ok(Verdict::Valid(_))));
        let part = &whole[..cut.index(whole.len())];
        prop_assert!(!matches!(verdict(part, &key), Ok(Verdict::Valid(_))));
        let _ = verdict(&[part, &bytes].concat(), &key);
    }
}

#[test]
fn a_statement_parses_back_and_rejects_a_second_line() {
    let one = statement("Anna");
    assert_eq!(Statement::parse(&one.text().unwrap()).unwrap(), one);
    for name in [
        "",
        " ",
        "Anna\ndate: 2020-01-01",
        "An\u{202e}na",
        "\u{0}",
        &"x".repeat(201),
    ] {
        assert!(statement(name).text().is_err(), "{name:?}");
    }
    for text in [
        "",
        "Canopy certificate, form 2\n",
        &one.text().unwrap().replace("12 points", "012 points"),
    ] {
        assert!(Statement::parse(text).is_err(), "{text}");
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

#[test]
fn written_certificates_verify() {
    let dir = tempfile::tempdir().unwrap();
    let (statement, key) = (statement("Žofie Łukasz-Ångström"), signer(7));
    let sealed = Sealed::new(&statement, &key).unwrap();
    write(dir.path(), &sealed, &statement, &key).unwrap();
    for name in ["certificate.json", "certificate.html"] {
        let bytes = fs::read(dir.path().join(name)).unwrap();
        let result = verdict(&bytes, &key.verifying_key()).unwrap();
        assert!(matches!(result, Verdict::Valid(_)), "{name}: {result:?}");
    }
}
