//! Sample grades for tests of tables and pages: one of each kind, and one with hostile text.

use grader::grades::{CheckGrade, ExerciseGrade, Grade, Late, LessonGrade, SCHEMA, Status};

/// Markup, a formula, quotes, control characters, a reversed name.
pub const HOSTILE: &str =
    "=cmd|' /C calc'!A0,\"x\"\n<img src=x onerror=alert(1)>\u{0}\u{1b}[31m]]>&amp;\u{202e}</script>\u{fffe}";

/// A graded submission of lesson 01, whose first `won` exercises are right; the next is wrong, the others to do.
pub fn graded(name: &str, won: usize) -> Grade {
    let all = [("A neuron", 1), ("Stable cross-entropy", 3), ("Momentum", 2)];
    let exercises = all.iter().enumerate().map(|(i, (title, of))| {
        let (word, report) = match i {
            i if i < won => ("right", ""),
            i if i == won => ("wrong", "expected  1000\ngot       inf\n"),
            _ => ("to do", ""),
        };
        ExerciseGrade {
            id: format!("1.{}", i + 1),
            title: (*title).into(),
            points: if word == "right" { *of } else { 0 },
            of: *of,
            checks: vec![CheckGrade {
                name: "stays_finite_for_huge_logits".into(),
                word: word.into(),
                report: report.into(),
            }],
            remark: None,
        }
    });
    Grade {
        schema: SCHEMA,
        submission: name.into(),
        submitted: Some(1_795_000_000),
        status: Status::Graded,
        lessons: vec![LessonGrade {
            lesson: "01".into(),
            title: "Gradient descent by hand".into(),
            stopped: None,
            exercises: exercises.collect(),
        }],
        ..Grade::default()
    }
}

/// One of each kind.
pub fn class() -> Vec<Grade> {
    let names = ["anna", "ben", "cem", "dana", "eve", "frida", HOSTILE];
    let mut class = names.map(|name| graded(name, if name == "anna" { 3 } else { 2 }));
    let [_, ben, cem, dana, eve, frida, hostile] = &mut class;
    let (seconds, percent) = (93_700, 20.0);
    ben.late = Some(Late { seconds, percent });
    (cem.status, dana.status) = (Status::Unreadable, Status::Refused);
    for none in [cem, dana] {
        none.lessons.clear();
        none.reason = Some("could not be read, because it is damaged".into());
    }
    eve.lessons[0].stopped = Some("error[E0425]: cannot find value `y`".into());
    for e in &mut eve.lessons[0].exercises {
        e.points = 0;
        e.checks.clear();
    }
    frida.submitted = None;
    frida.origin.late_unknown = Some("nothing says when it was handed in".into());
    hostile.reason = Some(HOSTILE.into());
    hostile.left_out = vec![HOSTILE.into()];
    hostile.lessons[0].stopped = Some(HOSTILE.into());
    hostile.lessons[0].exercises[2].checks[0].report = format!("{HOSTILE}{}", "x".repeat(500_000));
    class.into()
}
