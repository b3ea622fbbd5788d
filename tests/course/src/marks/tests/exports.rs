use grader::grades::Status;

use super::*;

#[test]
fn gradescope_gets_the_mark_and_a_test_per_exercise() {
    let json = |grade: &Grade| serde_json::from_str::<Value>(&gradescope::results(grade).unwrap()).unwrap();
    let all = samples::class();
    let ben = json(&all[1]);
    assert_eq!(
        (&ben["score"], &ben["stdout_visibility"], &ben["visibility"]),
        (&4.8.into(), &"hidden".into(), &"visible".into())
    );
    let tests = ben["tests"].as_array().unwrap();
    let of: f64 = tests.iter().map(|t| t["max_score"].as_f64().unwrap()).sum();
    assert_eq!((tests.len(), of), (5, 11.0));
    assert_eq!(
        (&tests[3]["number"], &tests[3]["status"], &tests[3]["score"]),
        (&"1.4".into(), &"failed".into(), &0.into())
    );
    assert!(tests[3]["output"].as_str().unwrap().contains("likely"));
    assert!(
        ben["output"]
            .as_str()
            .unwrap()
            .contains("20 % of the points are deducted")
    );
    let known = [
        "score",
        "execution_time",
        "output",
        "output_format",
        "test_output_format",
        "test_name_format",
        "visibility",
        "stdout_visibility",
        "extra_data",
        "tests",
    ];
    assert!(ben.as_object().unwrap().keys().all(|k| known.contains(&&**k)));
    let cem = json(&all[2]);
    assert!(cem.get("score").is_none() && cem.get("tests").is_none(), "{cem}");
    assert!(cem["output"].as_str().unwrap().contains("the archive is damaged"));
    assert!(json(&all[6]).to_string().len() < 200_000);
}

#[test]
fn github_classroom_sums_to_the_mark_and_always_has_a_test() {
    for grade in samples::class() {
        let result: Value = serde_json::from_str(&classroom::results(&grade).unwrap()).unwrap();
        let tests = result["tests"].as_array().unwrap();
        let sum: f64 = tests.iter().map(|t| t["score"].as_f64().unwrap()).sum();
        assert!((sum - grade.mark()).abs() < 1e-9 && !tests.is_empty(), "{result}");
        let status = match grade.submission.as_str() {
            "anna" => "pass",
            "cem" | "dana" => "error",
            _ => "fail",
        };
        assert_eq!(
            (&result["version"], result["status"].as_str()),
            (&1.into(), Some(status))
        );
        // With 0 the reporter writes no points.
        assert_eq!(result["max_score"] == 0, status == "error", "{result}");
    }
}

#[test]
fn a_submission_without_a_mark_has_a_reason_and_never_zero_points() {
    for status in [Status::Unreadable, Status::Refused, Status::NotGraded] {
        let mut class = class();
        let cem = class.entries.iter_mut().find(|e| e.folder == "cem").unwrap();
        cem.grade.status = status;
        has_a_reason_and_never_zero_points(&class);
    }
}

/// Checks the row of `cem` in every export.
fn has_a_reason_and_never_zero_points(class: &Class) {
    let why = "because the archive is damaged";
    for column in [None, Some("Lesson 01 (4711)")] {
        let moodle = records(&sheets::moodle(class, column).unwrap());
        let canvas = records(&sheets::canvas(class, column).unwrap());
        let of = |rows: &[BTreeMap<String, String>], head: &str| {
            let row = rows.iter().find(|r| r[head] == "cem").unwrap().clone();
            let marks: Vec<String> = row
                .iter()
                .filter(|(name, _)| name.starts_with("Lesson 01"))
                .map(|(_, mark)| mark.clone())
                .collect();
            (row, marks)
        };
        let (row, marks) = of(&moodle, "Full name");
        assert_eq!(marks, [""]);
        assert!(row["Feedback"].contains(why), "{row:?}");
        assert_eq!(of(&canvas, "Student").1, [""]);
    }
    let cem = &class.entries.iter().find(|e| e.folder == "cem").unwrap().grade;
    let gradescope: Value = serde_json::from_str(&gradescope::results(cem).unwrap()).unwrap();
    assert!(gradescope.get("score").is_none() && gradescope.get("tests").is_none());
    // The reporter writes no points if the maximum is 0.
    let github: Value = serde_json::from_str(&classroom::results(cem).unwrap()).unwrap();
    assert_eq!(
        (&github["max_score"], &github["status"]),
        (&0.into(), &"error".into())
    );
    assert!(
        github["tests"][0]["message"].as_str().unwrap().contains(why),
        "{github}"
    );
}

#[test]
fn the_workflow_has_the_names_that_classroom_looks_for() {
    let workflow = include_str!("../../../examples/github-classroom/classroom.yml");
    for line in [
        "name: Autograding Tests",
        "  checks: write",
        "  run-autograding-tests:",
        "        id: canopy",
        "          CANOPY_RESULTS: ${{ steps.canopy.outputs.result }}",
        "          runners: canopy",
    ] {
        assert!(workflow.lines().any(|l| l == line), "{line}");
    }
}
