//! Training and evaluation in low precision.

use crate::*;

/// The clouds are easy to classify, so most predictions are far from a tie: all probabilities change, and hardly a prediction.
#[test]
fn a_run_is_evaluated_and_predicts_in_every_precision() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 60);
    let run = dir.path().join("run");
    succeeds(&mut train(&data, &run, "--epochs 12"));
    let found = |mut command: Command| -> (Value, String) {
        let output = succeeds(&mut command);
        let found = serde_json::from_slice(&output.stdout).unwrap();
        (found, text(&output.stderr))
    };
    let evaluated = |precision: &str| {
        let mut eval = canopy(&format!("eval --part all --json --precision {precision}"));
        eval.arg(&run);
        found(eval)
    };
    let predicted = |precision: &str| {
        let mut predict = canopy(&format!("predict --format json --precision {precision}"));
        predict.arg(&run).arg(&data);
        found(predict)
    };
    let (full, said) = evaluated("fp32");
    assert!(!said.contains("precision:"), "{said}");
    let (clouds, _) = predicted("fp32");
    for precision in ["tf32", "bf16", "fp16"] {
        let (low, said) = evaluated(precision);
        assert_contains(&said, &[&format!("precision: {precision}")]);
        let off = |key: &str| (low[key].as_f64().unwrap() - full[key].as_f64().unwrap()).abs();
        assert!(
            off("loss") > 0.0 && off("loss") < 0.02,
            "{precision}: {low}, fp32 {full}"
        );
        assert!(off("accuracy") <= 2.0 / 60.0, "{precision}: {low}, fp32 {full}");
        let (low, said) = predicted(precision);
        assert_contains(&said, &[&format!("precision: {precision}")]);
        assert_ne!(low["clouds"], clouds["clouds"], "{precision}");
    }
}
