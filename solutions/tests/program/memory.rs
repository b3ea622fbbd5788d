//! The estimates of `canopy plan` are near the memory of a real step, and its search respects a memory limit.

use crate::*;

fn plan(words: &str) -> Value {
    json(&mut canopy(&format!("--threads 2 plan --json {words}")))
}

#[test]
fn the_estimate_is_near_the_memory_of_a_real_step() {
    for options in ["--batch 16 --points 512", "--batch 4 --points 256 --plain"] {
        for model in ["vanilla", "full"] {
            let found = plan(&format!("--measure --model {model} {options}"));
            let [counted, measured] = ["total", "measured"].map(|key| found[key].as_f64().unwrap());
            let share = counted / measured;
            assert!(
                (0.75..1.2).contains(&share),
                "{model} {options}: {counted} of {measured}, {share}"
            );
        }
    }
}

#[test]
fn low_precision_is_counted_where_it_is_stored() {
    let activations = |form: &str, options: &str| {
        let found = plan(&format!("--model full {options}"));
        assert_eq!(found["form"], form, "{options}");
        found["bytes"]["activations"].as_f64().unwrap()
    };
    activations("fused", "");
    let low = activations("cuda", "--device cuda --format bf16");
    let share = low / activations("cuda", "--device cuda");
    assert!((0.5..0.55).contains(&share), "{share}");
    for format in ["bf16", "fp16"] {
        assert_eq!(activations("cuda", &format!("--format {format}")), low);
    }
}

#[test]
fn the_largest_batch_of_a_budget_fits_and_the_next_one_does_not() {
    let batch = plan("--budget 0.25")["largest"][0].as_u64().unwrap();
    let whole = |n: u64| plan(&format!("--batch {n}"))["total"].as_u64().unwrap();
    assert!(whole(batch) <= 1 << 28 && whole(batch + 1) > 1 << 28, "{batch}");
}

/// A limit of the system: it refuses more address space, and the attempt is aborted.
#[cfg(target_os = "linux")]
#[test]
fn a_search_under_a_memory_limit_halves_until_a_real_step_runs() {
    let limited = |options: &str| {
        let line = format!(
            "ulimit -v 700000; exec \"$CANOPY\" --threads 2 plan --json --plain --width 4 --points 128 {options}"
        );
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &line])
            .env("CANOPY", env!("CARGO_BIN_EXE_canopy"));
        shell
    };
    let output = succeeds(&mut limited("--search 400"));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let batch = found["searched"].as_u64().unwrap();
    let said = text(&output.stderr);
    assert!([200, 100, 50, 25, 12].contains(&batch), "{batch}: {said}");
    assert_contains(
        &said,
        &["batch 400: out of memory", &format!("batch {batch}: fits")],
    );
    // Another failure is reported, and not mistaken for a lack of memory.
    assert_contains(&stderr(&mut limited("--search 8 --optimizer lion")), &["lion"]);
}
