use std::collections::BTreeSet;

use grader::grades::{Course, ExerciseGrade, LessonGrade, SCHEMA};
use proptest::prelude::*;

use super::*;
use crate::certificate::{
    seal::{Kind, closed},
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

/// The three forms of one certificate.
fn forms(name: &str) -> [(Kind, Vec<u8>); 3] {
    let (statement, key) = (statement(name), signer(7));
    let sealed = Sealed::new(&statement, &key).unwrap();
    let html = page::html(&sealed, &statement).unwrap().into_bytes();
    let pdf = pdf::pdf(&sealed, &statement).unwrap().unwrap();
    [
        (Kind::Json, serde_json::to_vec_pretty(&sealed).unwrap()),
        (Kind::Html, closed(html, Kind::Html, &key)),
        (Kind::Pdf, closed(pdf, Kind::Pdf, &key)),
    ]
}

#[test]
fn each_form_alone_is_valid_and_says_what_was_signed() {
    for name in [
        "Anna Müller",
        "Zoë Łukasz-Ångström",
        "</script><b>\"x\" & 'y'",
        "O’Brien (2)",
    ] {
        for (kind, bytes) in forms(name) {
            assert_eq!(Kind::of(&bytes), kind);
            let valid = Verdict::Valid(Box::new(statement(name)));
            assert_eq!(
                verdict(&bytes, &signer(7).verifying_key()).unwrap(),
                valid,
                "{kind:?}"
            );
        }
    }
}

#[test]
fn another_key_is_told_from_a_change() {
    for (kind, bytes) in forms("Anna") {
        let other = verdict(&bytes, &signer(8).verifying_key()).unwrap();
        assert_eq!(other, Verdict::OtherKey(key::public(&signer(7))), "{kind:?}");
    }
    // Signed by another, who names our key as his.
    let mut forged = Sealed::new(&statement("Eve"), &signer(8)).unwrap();
    forged.key = key::public(&signer(7));
    let forged = serde_json::to_vec(&forged).unwrap();
    assert!(matches!(
        verdict(&forged, &signer(7).verifying_key()).unwrap(),
        Verdict::Changed(_)
    ));
}

#[test]
fn a_true_statement_in_a_false_page_is_found_out() {
    for (kind, bytes) in forms("Anna Schmidt") {
        let shown: &[u8] = match kind {
            Kind::Html => b"<p class=\"name\">Anna Schmidt",
            Kind::Pdf => b"(Anna Schmidt)",
            Kind::Json => continue,
        };
        let at = bytes.windows(shown.len()).position(|w| w == shown).unwrap() + shown.len() - 8;
        let mut changed = bytes.clone();
        changed[at..at + 6].copy_from_slice(b"Zzzzzz");
        assert!(
            matches!(verdict(&changed, &signer(7).verifying_key()).unwrap(), Verdict::Changed(w) if w.contains("around it"))
        );
        let appended = [&bytes[..], b"\n"].concat();
        assert!(matches!(
            verdict(&appended, &signer(7).verifying_key()).unwrap(),
            Verdict::Changed(_)
        ));
        let twice = [&bytes[..], &forms("Eve")[1].1].concat();
        assert!(verdict(&twice, &signer(7).verifying_key()).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_byte_of_a_statement_can_change_unseen(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let good = Sealed::new(&statement("Anna Müller"), &signer(7)).unwrap();
        let mut bytes = good.statement.clone().into_bytes();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        // Once as it is, once by one who corrects the digest too.
        let fixed = grader::submission::sha256(text.as_bytes());
        for digest in [good.digest.clone(), fixed] {
            let file = serde_json::to_vec(&Sealed { statement: text.clone(), digest, ..good.clone() }).unwrap();
            let judged = verdict(&file, &signer(7).verifying_key()).unwrap();
            prop_assert!(matches!(judged, Verdict::Changed(_)), "{judged:?}");
        }
    }

    #[test]
    fn no_byte_of_a_page_or_pdf_can_change_unseen(at in any::<prop::sample::Index>(), to in any::<u8>(), form in 1usize..3) {
        let (_, mut bytes) = forms("Anna Müller")[form].clone();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        // Unreadable is as good as changed; valid it must not be.
        if let Ok(judged) = verdict(&bytes, &signer(7).verifying_key()) {
            prop_assert!(!matches!(judged, Verdict::Valid(_)), "byte {at} to {to}");
        }
    }

    #[test]
    fn whatever_a_file_holds_verifying_it_ends(bytes in prop::collection::vec(any::<u8>(), 0..400), form in 0usize..3, cut in any::<prop::sample::Index>()) {
        let (_, whole) = forms("A")[form].clone();
        let key = signer(7).verifying_key();
        prop_assert!(!matches!(verdict(&bytes, &key), Ok(Verdict::Valid(_))));
        let part = &whole[..cut.index(whole.len())];
        // The end of line after JSON says nothing, and is not needed.
        prop_assert!(!matches!(verdict(part, &key), Ok(Verdict::Valid(_))));
        let _ = verdict(&[part, &bytes].concat(), &key);
    }
}

#[test]
fn a_statement_reads_back_and_takes_no_second_line() {
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

#[test]
fn letters_that_the_fonts_do_not_have_are_named_and_the_page_takes_them() {
    let statement = statement("李 Ŵ");
    let sealed = Sealed::new(&statement, &signer(7)).unwrap();
    assert_eq!(pdf::pdf(&sealed, &statement).unwrap().unwrap_err(), "“Ŵ”, “李”");
    assert!(page::html(&sealed, &statement).unwrap().contains("李 Ŵ"));
}

#[test]
fn every_letter_has_its_own_glyph() {
    let mut names = BTreeSet::new();
    let letters = ('\u{a1}'..='\u{2100}').filter_map(latin::glyph);
    for (name, wide) in letters {
        assert!(
            wide.is_ascii() && name.is_ascii() && names.insert(name.clone()),
            "{name}"
        );
    }
    assert!(names.len() > 150, "{}", names.len());
    assert_eq!(latin::glyph('é'), Some(("eacute".into(), 'e')));
    assert_eq!(latin::width("Wé", false), 1.5);
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
fn only_all_points_of_what_the_course_asks_are_certified() {
    let manifest = Manifest::parse(LESSON).unwrap();
    let ask = |grade: &Grade| won(grade, &[&manifest], &["1".into()]).unwrap();
    assert_eq!(ask(&grade([(2, 2), (3, 3)])).unwrap()[0].points, 5);
    assert_eq!(
        ask(&grade([(2, 2), (0, 3)])).unwrap_err(),
        ["1.2 Halve: 0 of 3 points"]
    );
    // A grade that says an exercise is worth less than it is, leaves it out, or was never made.
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
    assert!(won(&full, &[&manifest], &["07".into()]).is_err());
    assert!(won(&full, &[&manifest], &["01".into(), "1".into()]).is_err());
}

#[test]
fn a_key_is_made_once_is_its_owners_alone_and_reads_back() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("instructor.key");
    key::run(&key::Task::New { file: file.clone() }).unwrap();
    let made = key::load(&file).unwrap();
    let again = format!(
        "{:#}",
        key::run(&key::Task::New { file: file.clone() }).unwrap_err()
    );
    assert!(again.contains("there already"), "{again}");
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
        let told = key::load(&file).unwrap_err().to_string();
        assert!(told.contains("chmod 600"), "{told}");
    }
}

#[test]
fn a_certificate_is_written_in_three_forms_and_verifies_from_its_files() {
    let dir = tempfile::tempdir().unwrap();
    // To look at what is written, name a folder for it.
    let kept = std::env::var_os("CANOPY_CERTIFICATE").map(PathBuf::from);
    let out = kept.as_deref().unwrap_or(dir.path());
    let (statement, key) = (statement("Žofie Łukasz-Ångström Őrsi Ğül Brâncuși"), signer(7));
    write(out, &Sealed::new(&statement, &key).unwrap(), &statement, &key).unwrap();
    for name in ["certificate.json", "certificate.html", "certificate.pdf"] {
        let bytes = fs::read(out.join(name)).unwrap();
        let judged = verdict(&bytes, &key.verifying_key()).unwrap();
        assert!(matches!(judged, Verdict::Valid(_)), "{name}: {judged:?}");
    }
    if kept.is_none() {
        // A name without a PDF leaves no PDF of another name behind.
        let other = Statement {
            name: "李".into(),
            ..statement
        };
        write(out, &Sealed::new(&other, &key).unwrap(), &other, &key).unwrap();
        assert!(!out.join("certificate.pdf").exists() && out.join("certificate.html").exists());
    }
}
