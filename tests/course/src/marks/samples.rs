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
    let late = Grade {
        late: Some(Late {
            seconds: 93_700,
            percent: 20.0,
        }),
        ..graded("ben", 2)
    };
    let without = |name, status, reason: &str| Grade {
        reason: Some(reason.into()),
        status,
        lessons: Vec::new(),
        ..graded(name, 0)
    };
    let mut stopped = graded("eve", 0);
    stopped.lessons[0].stopped = Some("error[E0425]: cannot find value `y` in this scope".into());
    stopped.lessons[0]
        .exercises
        .iter_mut()
        .for_each(|e| e.checks.clear());
    let mut hostile = without(HOSTILE, Status::Graded, HOSTILE);
    hostile.left_out = vec![HOSTILE.into()];
    hostile.lessons = graded("", 1).lessons;
    hostile.lessons[0].stopped = Some(HOSTILE.into());
    hostile.lessons[0].exercises[1].checks[0].report = format!("{HOSTILE}{}", "x".repeat(500_000));
    let unknown = Some("nothing says when it was handed in".into());
    let mut undated = graded("frida", 2);
    (undated.submitted, undated.origin.late_unknown) = (None, unknown);
    vec![
        graded("anna", 3),
        late,
        without(
            "cem",
            Status::Unreadable,
            "could not be read, because the archive is damaged",
        ),
        without(
            "dana",
            Status::Refused,
            "it contains 3 GiB; at most 4 MiB can be handed in",
        ),
        stopped,
        undated,
        hostile,
    ]
}
