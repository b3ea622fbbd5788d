//! `canopy sharpness`, as it is typed.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use std::{fs, path::Path};

use serde_json::Value;

fn stdout(run: &Path, command: &str, more: &[&str]) -> String {
    let mut canopy = program::canopy();
    let output = canopy.arg(command).arg(run).args(more).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    String::from_utf8(output.stdout).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

#[test]
fn the_loss_rises_from_the_trained_weights_and_the_run_is_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let data = program::tiny_forest(dir.path(), 36);
    let run = dir.path().join("run");
    let mut train = program::canopy();
    train
        .args(["train", "--data"])
        .arg(data)
        .arg("--out")
        .arg(&run)
        .args([
            "--epochs", "12", "--batch", "6", "--points", "48", "--width", "16", "--device", "cpu",
        ]);
    assert!(train.output().unwrap().status.success());
    let weights = || fs::read(run.join("best.safetensors")).unwrap();
    let before = weights();

    let options = [
        "--json",
        "--seed",
        "3",
        "--directions",
        "2",
        "--steps",
        "3",
        "--reach",
        "0.6",
    ];
    let text = stdout(&run, "sharpness", &options);
    assert_eq!(text, stdout(&run, "sharpness", &options), "the same seed");
    let other = stdout(
        &run,
        "sharpness",
        &["--json", "--seed", "4", "--directions", "2", "--steps", "3"],
    );
    let (found, other): (Value, Value) = (
        serde_json::from_str(&text).unwrap(),
        serde_json::from_str(&other).unwrap(),
    );
    let alphas = numbers(&found["alphas"]);
    approx::assert_relative_eq!(
        alphas[..],
        [-0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6],
        epsilon = 1e-12
    );
    let [first, second] = [0, 1].map(|d| numbers(&found["losses"][d]));
    assert_eq!(
        first[3], second[3],
        "the middle is the trained model in every direction"
    );
    assert_ne!(first[0], second[0]);
    assert_ne!(first[0], numbers(&other["losses"][0])[0]);

    // All clouds of the part fit into the measurement, so the middle is the loss that `eval` reports.
    let scores: Value = serde_json::from_str(&stdout(&run, "eval", &["--part", "train", "--json"])).unwrap();
    approx::assert_relative_eq!(first[3], scores["loss"].as_f64().unwrap(), max_relative = 1e-4);
    let rise = |row: &[f64]| (row[0] + row[6]) / 2.0 - row[3];
    let sharpness = found["sharpness"].as_f64().unwrap();
    approx::assert_relative_eq!(sharpness, (rise(&first) + rise(&second)) / 2.0, epsilon = 1e-12);
    assert!(sharpness > 0.0, "{sharpness}");

    let table = stdout(&run, "sharpness", &["--directions", "1", "--steps", "1"]);
    assert!(table.contains("-0.500") && table.contains("sharpness"), "{table}");
    assert_eq!(weights(), before);
}

#[test]
fn options_out_of_range_are_errors() {
    for options in [["--reach", "0"], ["--steps", "0"], ["--reach", "NaN"]] {
        let message = program::stderr(program::canopy().args(["sharpness", "nowhere"]).args(options));
        assert!(message.contains(options[0]), "{message}");
    }
    let message = program::stderr(program::canopy().args(["sharpness", "nowhere"]));
    assert!(message.contains("nowhere"), "{message}");
}
