//! Gradescope's `results.json`: <https://gradescope-autograders.readthedocs.io/en/latest/specs/>.

use anyhow::Result;
use grader::grades::{ExerciseGrade, Grade, Status};
use serde_json::{Value, json};

use super::{clean, mark, sheets, state};

/// One test per exercise. The score at the top level is the mark after the penalty, which overrides their sum. Without a
/// mark there is neither score nor test: Gradescope then shows the output, and that the autograder gave no score.
pub fn results(grade: &Grade) -> Result<String> {
    let mut results = json!({
        "execution_time": grade.seconds.max(0.0).round() as u64,
        "output": output(grade),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        // Only the instructor sees what a student's code printed.
        "stdout_visibility": "hidden",
        "extra_data": {
            "course": grade.course,
            "digest": grade.digest,
            "seed": grade.seed.to_string(),
        },
    });
    if let Some(mark) = mark(grade) {
        results["score"] = json!((mark * 100.0).round() / 100.0);
        results["tests"] = grade.exercises().map(test).collect();
    }
    Ok(serde_json::to_string_pretty(&results)? + "\n")
}

fn test(e: &ExerciseGrade) -> Value {
    json!({
        "number": clean::line(&e.id),
        "name": clean::line(&e.title),
        "score": e.points,
        "max_score": e.of,
        "status": if state(e) == "right" { "passed" } else { "failed" },
        "output": reports(e),
        "visibility": "visible",
    })
}

/// The reports of all checks that did not pass.
pub fn reports(e: &ExerciseGrade) -> String {
    let mut out = String::new();
    for check in &e.checks {
        out.push_str(&format!(
            "{}: {}\n",
            clean::line(&check.word),
            clean::line(&check.name.replace('_', " "))
        ));
        if check.word != "right" && !check.report.is_empty() {
            out.push_str(&format!(
                "\n{}\n\n",
                clean::short(&check.report, clean::REPORT).trim_end()
            ));
        }
    }
    out
}

fn output(grade: &Grade) -> String {
    let mut out = format!("{} of {} points\n", grade.points(), grade.of());
    if grade.status != Status::Graded {
        out = format!("no mark: {}\n", sheets::status(grade.status));
    }
    if let Some(why) = &grade.origin.late_unknown {
        out.push_str(&format!("lateness unknown: {}\n", clean::line(why)));
    }
    if let Some(late) = &grade.late {
        let percent = clean::points(late.percent);
        out.push_str(&format!("late: {percent} % of the points are deducted\n"));
    }
    if let Some(reason) = &grade.reason {
        out.push_str(&format!("{}\n", clean::short(reason, clean::REPORT)));
    }
    for lesson in &grade.lessons {
        if let Some(why) = &lesson.stopped {
            out.push_str(&format!(
                "lesson {} was stopped:\n{}\n",
                clean::line(&lesson.lesson),
                clean::short(why, clean::REPORT)
            ));
        }
    }
    for name in &grade.left_out {
        out.push_str(&format!("left out: {}\n", clean::cut(name, 200)));
    }
    out
}
