//! `canopy plan` fills a budget of memory, and its search respects a limit. `lists/machine.txt` compares its estimates with real
//! steps.

use crate::*;

fn plan(words: &str) -> Value {
    json(&mut canopy(&format!("--threads 2 plan --json {words}")))
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
