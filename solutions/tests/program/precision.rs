//! Training in low precision, and `canopy bench precision`.

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
    let said = stderr(&mut train("none", "--loss-scale fast"));
    assert_contains(&said, &["loss-scale is 'fast'"]);
}

#[test]
fn the_program_says_how_it_computes_bf16() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 24);
    let emulated = "precision: bf16, emulated: shows accuracy, not speed";
    let unit = match Bf16Unit::fastest() {
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
    let bench = "bench train --model vanilla --points 64 --batch 4 --repeats 1 --rounds 1 --precision bf16";
    let said = text(&succeeds(&mut canopy(bench)).stdout);
    assert_contains(&said, &[&*unit, "all, in fp32"]);
    assert_contains(
        &stderr(&mut canopy("bench infer --precision bf16")),
        &["inference on a CPU is always fp32"],
    );
}

#[test]
fn bench_precision_prints_the_memory_of_each_format() {
    let rows = json(&mut canopy("bench precision --bytes --json"));
    let of = |format: &str, key: &str| {
        let mut rows = rows.as_array().unwrap().iter();
        rows.find(|r| r["format"] == format).unwrap()[key]
            .as_f64()
            .unwrap()
    };
    assert_eq!(
        (of("fp32", "a_parameter"), of("bf16", "a_parameter")),
        (16.0, 16.0)
    );
    assert_eq!(of("fp32", "activations_mb"), 2.0 * of("fp16", "activations_mb"));
    assert_eq!(of("tf32", "activations_mb"), of("fp32", "activations_mb"));
}
