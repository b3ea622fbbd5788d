//! What the graders of Gradescope and GitHub Classroom read: one test per exercise.

use anyhow::Result;
use grader::grades::{ExerciseGrade, Grade, Status};
use serde_json::{Value, json};

use super::{clean, kept, mark, sheets, state};

/// Gradescope's `results.json`: <https://gradescope-autograders.readthedocs.io/en/latest/specs/>. The score at the top
/// level is the mark after the penalty, which overrides the sum of the tests. Without a mark there is neither score nor
/// test: Gradescope then shows the output, and that the autograder gave no score.
pub fn gradescope(grade: &Grade) -> Result<String> {
    let mut output = format!("{} of {} points\n", grade.points(), grade.of());
    if grade.status != Status::Graded {
        output = format!("no mark: {}\n", sheets::status(grade.status));
    }
    if let Some(late) = &grade.late {
        let percent = clean::points(late.percent);
        output.push_str(&format!("late: {percent} % of the points are deducted\n"));
    }
    output.push_str(&sheets::why(grade));
    // Only the instructor sees what a student's code printed.
    let mut results = json!({ "output": output, "visibility": "visible", "stdout_visibility": "hidden" });
    if let Some(mark) = mark(grade) {
        results["score"] = json!((mark * 100.0).round() / 100.0);
        let test = |e: &ExerciseGrade| {
            json!({
                "number": e.id,
                "name": e.title,
                "score": e.points,
                "max_score": e.of,
                "status": if state(e) == "right" { "passed" } else { "failed" },
                "output": reports(e),
            })
        };
        results["tests"] = grade.exercises().map(test).collect();
    }
    Ok(serde_json::to_string_pretty(&results)? + "\n")
}

/// The result of a GitHub Classroom runner. `classroom-resources/autograding-grading-reporter@v1` reads it in base64
/// from `NAME_RESULTS`, and sums the scores. The penalty for lateness lowers each score, because the reporter does not
/// know of it.
pub fn github(grade: &Grade) -> Result<String> {
    let test = |name: &str, status: &str, score: f64, message: &str| {
        json!({
            "name": name,
            "status": status,
            "score": score,
            "message": message,
            "line_no": 0,
            "execution_time": "0s",
        })
    };
    let of_exercise = |e: &ExerciseGrade| {
        let status = if state(e) == "right" { "pass" } else { "fail" };
        let score = (f64::from(e.points) * kept(grade) * 100.0).round() / 100.0;
        test(&format!("{} {}", e.id, e.title), status, score, &reports(e))
    };
    let mut tests: Vec<Value> = grade.exercises().map(of_exercise).collect();
    let all_right = tests.iter().all(|t| t["status"] == "pass");
    let mut status = if all_right { "pass" } else { "fail" };
    if grade.status != Status::Graded || tests.is_empty() {
        // The reporter divides by the number of tests, so there must be one. With `max_score` 0, it reports no points.
        status = "error";
        let why = format!("{}: {}", sheets::status(grade.status), sheets::why(grade));
        tests = vec![test("the submission could be graded", status, 0.0, &why)];
    }
    let results = json!({ "version": 1, "status": status, "max_score": grade.of(), "tests": tests });
    Ok(serde_json::to_string_pretty(&results)? + "\n")
}

/// The results of all checks, with the reports of those that did not pass.
fn reports(e: &ExerciseGrade) -> String {
    let of_check = |c: &grader::grades::CheckGrade| {
        let report = if c.word == "right" { "" } else { &c.report };
        let report = clean::short(report, clean::REPORT);
        format!("{}: {}\n{report}", c.word, c.name.replace('_', " "))
    };
    e.checks.iter().map(of_check).collect()
}
