//! `--profile`, `canopy profile` and `canopy monitor`.

use crate::*;

/// `lists/machine.txt` has the other files and commands of a profile.
#[test]
fn a_trace_has_a_span_for_each_part_of_each_step() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (tiny_forest(dir.path(), 36), dir.path().join("run"));
    succeeds(&mut train(&data, &run, "--epochs 2 --profile"));
    let trace = fs::read_to_string(run.join("profile/trace.json")).unwrap();
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let count = |name: &str, kind: &str| {
        let of = |e: &&Value| e["ph"] == "X" && e["name"] == name && e["cat"] == kind;
        events.iter().filter(of).count()
    };
    let steps = count("step", "other");
    assert!(steps >= 2, "{steps} steps");
    for name in ["forward", "loss", "backward", "optimizer"] {
        assert_eq!(count(name, "kernel"), steps, "{name}");
    }
    assert!(count("next batch", "load") > steps && count("evaluate", "other") >= 1);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_monitor_with_a_complete_file() {
    use std::{process::Stdio, thread, time::Duration};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("use.csv");
    let mut monitor = canopy("monitor --interval 0.02 --out");
    monitor.arg(&path).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = monitor.spawn().unwrap();
    let written = || fs::read_to_string(&path).unwrap_or_default();
    while written().lines().count() <= 3 && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(20));
    }
    // SAFETY: the process is our own child, which has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let status = child.wait().unwrap();
    if written().is_empty() {
        println!("not run, because there is nothing to monitor here");
        return;
    }
    assert!(status.success(), "Ctrl-C is the normal way to end it: {status}");
    assert!(written().ends_with('\n'));
}
