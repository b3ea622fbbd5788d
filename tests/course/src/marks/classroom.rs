//! The result of a GitHub Classroom runner. `classroom-resources/autograding-grading-reporter@v1` reads it in base64 from
//! `NAME_RESULTS`: `version`, `status`, `max_score`, and `tests`, whose `score` it sums.

use anyhow::Result;
use grader::grades::{ExerciseGrade, Grade, Status};
use serde_json::{Value, json};

use super::{clean, gradescope, kept, sheets, state};

/// One test per exercise. The penalty for lateness lowers each score, because the reporter does not know of it.
pub fn results(grade: &Grade) -> Result<String> {
    let mut tests: Vec<Value> = grade.exercises().map(|e| test(grade, e)).collect();
    let graded = grade.status == Status::Graded;
    if !graded || tests.is_empty() {
        let why = sheets::why(grade);
        let message = if why.is_empty() {
            sheets::status(grade.status)
        } else {
            &why
        };
        let name = "the submission could be graded";
        // The reporter divides by the number of tests, so there must be one. It reports no points, because `max_score` is 0.
        tests = vec![one(name, "error", 0.0, message)];
    }
    let status = match () {
        () if !graded || tests.iter().any(|t| t["status"] == "error") => "error",
        () if tests.iter().all(|t| t["status"] == "pass") => "pass",
        () => "fail",
    };
    let results = json!({ "version": 1, "status": status, "max_score": grade.of(), "tests": tests });
    Ok(serde_json::to_string_pretty(&results)? + "\n")
}

fn test(grade: &Grade, e: &ExerciseGrade) -> Value {
    let name = format!("{} {}", clean::line(&e.id), clean::line(&e.title));
    let score = (f64::from(e.points) * kept(grade) * 100.0).round() / 100.0;
    if state(e) == "right" {
        one(&name, "pass", score, "")
    } else {
        one(&name, "fail", score, &gradescope::reports(e))
    }
}

fn one(name: &str, status: &str, score: f64, message: &str) -> Value {
    json!({ "name": name, "status": status, "score": score, "message": message, "line_no": 0, "execution_time": "0s" })
}
