//! Sample grades for tests of tables and pages: one of each kind, and one with hostile text.

use grader::grades::{CheckGrade, Course, ExerciseGrade, Grade, Late, LessonGrade, SCHEMA, Sandbox, Status};

/// Markup, a formula, quotes, control characters, a reversed name.
pub const HOSTILE: &str =
    "=cmd|' /C calc'!A0,\"x\"\n<img src=x onerror=alert(1)>\u{0}\u{1b}[31m]]>&amp;\u{202e}</script>\u{fffe}";

const REPORT: &str = "1.2 Stable cross-entropy\n  failed: stays finite for huge logits\n    asked     \
    The mean over rows of the cross-entropy of logits and labels.\n    given     logits [[1000, 0], [0, 1000]], labels [1, 0]\n    \
    compared  loss\n    expected  1000\n    got       inf\n    likely    exp of a logit overflows: take the row's greatest off first\n    \
    hint      cargo course hint 1.2\n";

/// Exercises of a lesson: the first `won` are right, the next is wrong, the rest to do.
pub fn lesson(number: &str, title: &str, won: usize) -> LessonGrade {
    let all = [
        ("A neuron", 1),
        ("Stable cross-entropy", 3),
        ("SGD step on variables", 2),
        ("Momentum", 2),
        ("Adam with bias correction", 3),
    ];
    let exercises = all.iter().enumerate().map(|(i, (title, of))| {
        let word = match i {
            i if i < won => "right",
            i if i == won => "wrong",
            _ => "to do",
        };
        let check = |name: &str, word: &str| CheckGrade {
            name: name.into(),
            word: word.into(),
            report: if word == "wrong" {
                REPORT.into()
            } else {
                String::new()
            },
        };
        let first = if word == "wrong" { "right" } else { word };
        ExerciseGrade {
            id: format!("{}.{}", number.trim_start_matches('0'), i + 1),
            title: (*title).into(),
            points: if word == "right" { *of } else { 0 },
            of: *of,
            checks: vec![
                check("agrees_with_the_definition", first),
                check("stays_finite_for_huge_logits", word),
            ],
            remark: None,
        }
    });
    LessonGrade {
        lesson: number.into(),
        title: title.into(),
        stopped: None,
        exercises: exercises.collect(),
    }
}

/// A graded submission of lesson 01 with `won` exercises right.
pub fn graded(name: &str, won: usize) -> Grade {
    Grade {
        schema: SCHEMA,
        submission: name.into(),
        origin: Default::default(),
        submitted: Some(1_795_000_000),
        digest: "7d1a54127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a".into(),
        course: Course {
            version: "0.1.0".into(),
            digest: "c0ffee127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a".into(),
        },
        status: Status::Graded,
        reason: None,
        left_out: Vec::new(),
        lessons: vec![lesson("01", "Gradient descent by hand", won)],
        late: None,
        seed: 20_261_121,
        seconds: 3.4,
        sandbox: Sandbox {
            active: vec![
                "landlock".into(),
                "no network".into(),
                "1024 MiB of memory".into(),
            ],
            missing: vec!["a memory limit by cgroup: not writable".into()],
        },
    }
}

/// One of each kind.
pub fn class() -> Vec<Grade> {
    let mut late = graded("ben", 3);
    late.late = Some(Late {
        seconds: 93_700,
        percent: 20.0,
    });
    let mut unreadable = graded("cem", 0);
    (unreadable.status, unreadable.lessons) = (Status::Unreadable, Vec::new());
    unreadable.reason =
        Some("could not be read, because the archive is damaged: unexpected end of file".into());
    let mut refused = graded("dana", 0);
    (refused.status, refused.lessons) = (Status::Refused, Vec::new());
    refused.reason = Some("it contains 3 GiB; at most 4 MiB can be handed in".into());
    let mut stopped = graded("eve", 0);
    stopped.lessons[0].stopped =
        Some("error[E0425]: cannot find value `y` in this scope\n --> src/lib.rs:12:5".into());
    for e in &mut stopped.lessons[0].exercises {
        e.points = 0;
        e.checks.clear();
    }
    let mut odd = graded(
        "a_very_long_name_that_some_platform_made_out_of_everything_it_knew_12345678",
        2,
    );
    odd.left_out = vec![
        "build.rs: no build script may be handed in".into(),
        "Cargo.toml: the course's own is used".into(),
    ];
    odd.lessons[0].exercises[3].checks[0].word = "not run".into();
    odd.lessons[0].exercises[3].checks[1].word = "not run".into();
    odd.lessons[0].exercises[3].checks[1].report = "not run: there is no GPU here".into();
    vec![
        graded("anna", 5),
        late,
        unreadable,
        refused,
        stopped,
        odd,
        hostile(),
        graded("frida", 4),
        graded("gil", 1),
    ]
}

/// A grade with hostile texts, one of them long.
pub fn hostile() -> Grade {
    let mut grade = graded(HOSTILE, 1);
    grade.reason = Some(HOSTILE.into());
    grade.left_out = vec![HOSTILE.into()];
    grade.sandbox.missing = vec![HOSTILE.into()];
    grade.lessons[0].stopped = Some(HOSTILE.into());
    for e in &mut grade.lessons[0].exercises {
        for c in &mut e.checks {
            c.report = format!("{HOSTILE}{}", "x".repeat(500_000));
        }
    }
    grade
}
