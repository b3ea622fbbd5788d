//! `canopy sharpness`.

use crate::*;

#[test]
fn the_loss_rises_from_the_trained_weights_and_the_run_is_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (tiny_forest(dir.path(), 36), dir.path().join("run"));
    succeeds(&mut train(&data, &run, "--epochs 12"));
    let weights = || fs::read(run.join("best.safetensors")).unwrap();
    let before = weights();
    let sharpness = |words: &str| stdout(canopy(&format!("sharpness {words}")).arg(&run));

    let options = "--json --directions 2 --steps 3 --reach 0.6 --seed";
    let text = sharpness(&format!("{options} 3"));
    assert_eq!(text, sharpness(&format!("{options} 3")), "the same seed");
    let found: Value = serde_json::from_str(&text).unwrap();
    let other: Value = serde_json::from_str(&sharpness(&format!("{options} 4"))).unwrap();
    let alphas = numbers(&found["alphas"]);
    let expected = [-0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6];
    approx::assert_relative_eq!(alphas[..], expected, epsilon = 1e-12);
    let [first, second] = [0, 1].map(|d| numbers(&found["losses"][d]));
    assert_eq!(
        first[3], second[3],
        "the middle is the trained model in every direction"
    );
    assert_ne!(first[0], second[0]);
    assert_ne!(first[0], numbers(&other["losses"][0])[0]);

    // All clouds of the part fit into the measurement, so the middle is the loss that `eval` reports.
    let scores = json(canopy("eval --part train --json").arg(&run));
    approx::assert_relative_eq!(first[3], scores["loss"].as_f64().unwrap(), max_relative = 1e-4);
    let rise = |row: &[f64]| (row[0] + row[6]) / 2.0 - row[3];
    let mean = found["sharpness"].as_f64().unwrap();
    approx::assert_relative_eq!(mean, (rise(&first) + rise(&second)) / 2.0, epsilon = 1e-12);
    assert!(mean > 0.0, "{mean}");

    let table = sharpness("--directions 1 --steps 1");
    assert_contains(&table, &["-0.500", "sharpness"]);
    assert_eq!(weights(), before);
}

#[test]
fn options_out_of_range_are_errors() {
    for (options, part) in [
        ("--reach 0", "--reach"),
        ("--steps 0", "--steps"),
        ("--reach NaN", "--reach"),
        ("", "nowhere"),
    ] {
        let message = stderr(&mut canopy(&format!("sharpness nowhere {options}")));
        assert_contains(&message, &[part]);
    }
}
