//! Training and evaluation in low precision.

use canopy::kernels::Bf16Unit;

use crate::*;

#[test]
fn the_program_reports_emulation_and_endless_overflow() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 40);
    let train = |name: &str, words: &str| {
        train(
            &data,
            &dir.path().join(name),
            &format!("--precision fp16 {words}"),
        )
    };
    let said = text(&succeeds(&mut train("run", "--epochs 2")).stderr);
    assert_contains(
        &said,
        &[
            "precision: fp16, emulated: shows accuracy, not speed",
            ", loss scale ",
        ],
    );
    let page = fs::read_to_string(dir.path().join("run/report.html")).unwrap();
    assert!(page.contains("emulated: shows accuracy, not speed"));
    // Every step overflows and is skipped, until the run fails.
    let said = stderr(&mut train("static", "--epochs 40 --loss-scale 1e38"));
    assert_contains(&said, &["overflowed in 100 steps in a row"]);
    let refused = train("none", "--loss-scale fast").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_contains(&text(&refused.stderr), &["loss-scale is 'fast'", "expected auto"]);
}

#[test]
fn the_program_says_how_it_computes_bf16() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 24);
    let emulated = "precision: bf16, emulated: shows accuracy, not speed";
    let unit = match Bf16Unit::current() {
        Bf16Unit::Off => emulated.into(),
        unit => format!("precision: bf16 products on the CPU's {unit} units, sums in fp32"),
    };
    for (name, option, expected) in [
        ("unit", "", &*unit),
        ("none", "--no-bf16-unit", emulated),
        ("plain", "--plain", emulated),
    ] {
        let words = format!("--precision bf16 --epochs 1 {option}");
        let said = text(&succeeds(&mut train(&data, &dir.path().join(name), &words)).stderr);
        assert_contains(&said, &[expected]);
    }
    let mut narrow = train(&data, &dir.path().join("narrow"), "--precision bf16 --epochs 1");
    let said = text(&succeeds(narrow.env("CANOPY_INSTRUCTIONS", "base")).stderr);
    assert_contains(&said, &[emulated]);
    for mode in ["train", "infer"] {
        let words = "--model vanilla --points 64 --batch 4 --repeats 1 --rounds 1 --precision bf16";
        let said = text(&succeeds(&mut canopy(&format!("bench {mode} {words}"))).stdout);
        assert_contains(&said, &[&*unit, "all, in fp32"]);
    }
}

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
    let mut wrong = canopy("eval --precision fp8");
    let output = wrong.arg(&run).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_contains(&text(&output.stderr), &["fp8", "bf16"]);
}
