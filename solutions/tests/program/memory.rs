//! The search of `canopy plan` respects a limit of memory. `lists/machine.txt` compares its estimates with real steps.

#![cfg(target_os = "linux")]

use crate::*;

/// A limit of the system: it refuses more address space, and the attempt is aborted.
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
