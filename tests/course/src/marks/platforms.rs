//! What the graders of Gradescope and GitHub Classroom read: one test per exercise.

use grader::grades::{CheckGrade, ExerciseGrade, Grade};
use serde_json::{Value, json};

use super::{clean, kept, mark, state, status, tables::feedback, why};

/// Gradescope's `results.json`: <https://gradescope-autograders.readthedocs.io/en/latest/specs/>. The score at the top
/// level is the mark after the penalty, which overrides the sum of the tests. Without a mark there is neither score nor
/// test: Gradescope then shows the output, and that the autograder gave no score.
pub fn gradescope(grade: &Grade) -> Value {
    let output = format!("{}\n{}", feedback(grade), why(grade));
    // Only the instructor sees what a student's code printed.
    let mut results = json!({ "output": output, "visibility": "visible", "stdout_visibility": "hidden" });
    if let Some(mark) = mark(grade) {
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
        results["score"] = clean::rounded(mark).into();
        results["tests"] = grade.exercises().map(test).collect();
    }
    results
}

/// The result of a GitHub Classroom runner. `classroom-resources/autograding-grading-reporter@v1` reads it in base64
/// from `NAME_RESULTS`, and sums the scores. The penalty for lateness lowers each score, because the reporter does not
/// know of it.
pub fn github(grade: &Grade) -> Value {
    let test = |name: &str, status: &str, points: f64, message: &str| {
        json!({
            "name": name,
            "status": status,
            "score": clean::rounded(points * kept(grade)),
            "message": message,
            "line_no": 0,
            "execution_time": "0s",
        })
    };
    let of_exercise = |e: &ExerciseGrade| {
        let status = if state(e) == "right" { "pass" } else { "fail" };
        test(
            &format!("{} {}", e.id, e.title),
            status,
            e.points.into(),
            &reports(e),
        )
    };
    let mut tests: Vec<Value> = grade.exercises().map(of_exercise).collect();
    let all_right = tests.iter().all(|t| t["status"] == "pass");
    let mut result = if all_right { "pass" } else { "fail" };
    if mark(grade).is_none() || tests.is_empty() {
        // The reporter divides by the number of tests, so there must be one. With `max_score` 0, it reports no points.
        result = "error";
        let why = format!("{}: {}", status(grade), why(grade));
        tests = vec![test("the submission could be graded", result, 0.0, &why)];
    }
    json!({ "version": 1, "status": result, "max_score": grade.of(), "tests": tests })
}

/// The results of all checks, with the reports of those that did not pass.
fn reports(e: &ExerciseGrade) -> String {
    let of_check = |c: &CheckGrade| {
        let report = if c.word == "right" { "" } else { &c.report };
        let report = clean::short(report, clean::REPORT);
        format!("{}: {}\n{report}", c.word, c.name.replace('_', " "))
    };
    e.checks.iter().map(of_check).collect()
}
