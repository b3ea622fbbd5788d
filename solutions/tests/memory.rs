//! What the planner counts is near what a real step takes, and the search stops where memory does.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod program;

use serde_json::Value;

fn plan(arguments: &[&str]) -> Value {
    let output = program::canopy()
        .args(["--threads", "2", "plan", "--json"])
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_is_counted_is_near_what_a_real_step_takes() {
    let fused = ["--batch", "16", "--points", "512"];
    let small = ["--batch", "4", "--points", "256", "--plain"];
    for (options, model) in [
        (fused.as_slice(), "vanilla"),
        (&fused, "full"),
        (&small, "vanilla"),
        (&small, "full"),
    ] {
        let found = plan(&[&["--measure", "--model", model], options].concat());
        let (counted, measured) = (
            found["total"].as_f64().unwrap(),
            found["measured"].as_f64().unwrap(),
        );
        let share = counted / measured;
        assert!(
            (0.75..1.2).contains(&share),
            "{model} {options:?}: {counted} of {measured}, {share}"
        );
    }
}

#[test]
fn the_largest_batch_of_a_budget_is_the_one_that_is_counted_for_it() {
    let found = plan(&["--budget", "0.25"]);
    let batch = found["largest"][0].as_u64().unwrap();
    let whole = |n: u64| plan(&["--batch", &n.to_string()])["total"].as_u64().unwrap();
    assert!(whole(batch) <= 1 << 28 && whole(batch + 1) > 1 << 28, "{batch}");
    let found = plan(&["--budget", "0.001"]);
    assert!(found["largest"].is_null());
}

/// The real limit: the system gives no more address space, and the attempt dies of it.
#[cfg(target_os = "linux")]
#[test]
fn a_search_under_a_limit_of_memory_halves_until_a_real_step_runs() {
    let limited = |kib: u32, options: &str| {
        let line = format!(
            "ulimit -v {kib}; exec \"$CANOPY\" --threads 2 plan --json --plain --width 4 --points 128 {options}"
        );
        std::process::Command::new("sh")
            .args(["-c", &line])
            .env("CANOPY", env!("CARGO_BIN_EXE_canopy"))
            .output()
            .unwrap()
    };
    let output = limited(700_000, "--search 400");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let batch = found["searched"].as_u64().unwrap();
    assert!([200, 100, 50, 25, 12].contains(&batch), "{batch}: {said}");
    assert!(said.contains("batch 400: out of memory"), "{said}");
    assert!(said.contains(&format!("batch {batch}: fits")), "{said}");
    // Another failure is told, and not taken for a lack of memory.
    let output = limited(700_000, "--search 8 --optimizer lion");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("lion"), "{said}");
}
