//! `--profile`, `canopy profile` and `canopy monitor`.

use crate::*;

/// The spans of a trace.
pub fn spans(trace: &Path) -> Vec<Value> {
    let trace: Value = serde_json::from_str(&fs::read_to_string(trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap().iter();
    events.filter(|event| event["ph"] == "X").cloned().collect()
}

#[test]
fn a_profiled_run_trains_the_same_weights_and_writes_files_that_can_be_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 36);
    let (plain, profiled) = (dir.path().join("plain"), dir.path().join("profiled"));
    succeeds(&mut train(&data, &plain, "--epochs 2"));
    let mut train = train(&data, &profiled, "--epochs 2 --profile --nvtx --monitor 0.05");
    assert_contains(&text(&succeeds(&mut train).stderr), &["bound", "kernels"]);
    let weights = |run: &Path| fs::read(run.join("best.safetensors")).unwrap();
    assert_eq!(
        weights(&plain),
        weights(&profiled),
        "profiling changes the weights"
    );
    assert!(!plain.join("profile").exists());

    let spans = |folder: &str| spans(&profiled.join(folder).join("trace.json"));
    let trace = spans("profile");
    let count = |name: &str, kind: &str| {
        trace
            .iter()
            .filter(|s| s["name"] == name && s["cat"] == kind)
            .count()
    };
    let steps = count("step", "other");
    assert!(steps >= 2, "{steps} steps");
    for name in ["forward", "loss", "backward", "optimizer"] {
        assert_eq!(count(name, "kernel"), steps, "{name}");
    }
    assert!(count("next batch", "load") > steps && count("evaluate", "other") >= 1);
    for file in ["flame.svg", "timeline.svg", "summary.json", "summary.txt"] {
        assert!(profiled.join("profile").join(file).is_file(), "{file}");
    }
    let log = fs::read_to_string(profiled.join("monitor.csv")).unwrap();
    assert!(
        log.starts_with("timestamp,seconds,bus_id") && log.ends_with('\n'),
        "{log}"
    );

    let shown = json(canopy("profile --json").arg(&profiled));
    let kept = fs::read_to_string(profiled.join("profile/summary.json")).unwrap();
    assert_eq!(shown, serde_json::from_str::<Value>(&kept).unwrap());
    assert_contains(
        &stdout(canopy("profile").arg(&profiled)),
        &["profile of", "forward"],
    );

    succeeds(canopy("eval --profile").arg(&profiled));
    assert!(profiled.join("profile-eval/flame.svg").is_file());
    let cloud = dir.path().join("ball.xyz");
    write_xyz(&cloud, shape(0, 7));
    succeeds(canopy("predict --profile").arg(&profiled).arg(&cloud));
    for (name, kind) in [("next batch", "load"), ("infer", "kernel")] {
        let mut spans = spans("profile-predict").into_iter();
        assert!(spans.any(|s| s["name"] == name && s["cat"] == kind), "{name}");
    }
}

#[test]
fn a_kernel_table_is_summarised_and_a_damaged_one_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kernels.csv");
    let table =
        "Time (%),Total Time (ns),Instances,Name\n75.0,3000000,10,gemm\n25.0,1000000,5,[CUDA memcpy HtoD]\n";
    fs::write(&path, table).unwrap();
    let said = stdout(canopy("profile").arg(&path));
    assert_contains(&said, &["copy share       0.250", "gemm", "3,000,000"]);
    let found = json(canopy("profile --json").arg(&path));
    assert_eq!(
        (&found["copy_share"], &found["rows"][0]["calls"]),
        (&0.25.into(), &10.into())
    );
    fs::write(&path, table.replace("3000000", "often")).unwrap();
    let said = stderr(canopy("profile").arg(&path));
    assert_contains(&said, &["kernels.csv", "row 2", "'often'"]);
    let said = stderr(canopy("profile").arg(dir.path()));
    assert_contains(&said, &["canopy train --profile"]);
}

#[test]
fn a_monitor_takes_count_samples_and_never_overwrites() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("use.csv");
    let mut monitor = canopy("monitor --interval 0.02 --count 3 --json --out");
    let out = monitor.arg(&path).output().unwrap();
    if !out.status.success() && text(&out.stderr).contains("nothing to monitor") {
        println!("not run, because there is nothing to monitor here");
        return;
    }
    let text = text(&out.stdout);
    let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let rows: Vec<Value> = csv::Reader::from_path(&path)
        .unwrap()
        .deserialize()
        .map(|row: Result<canopy::profile::monitor::Sample, _>| serde_json::to_value(row.unwrap()).unwrap())
        .collect();
    assert!(lines.len() >= 3 && rows == lines, "{lines:?}");
    let cpu = lines.iter().find(|line| line["bus_id"] == "cpu");
    if let Some(cpu) = cpu {
        let [used, total] = ["memory_used_mib", "memory_total_mib"].map(|key| cpu[key].as_f64().unwrap());
        assert!(1.0 < used && used <= total, "{cpu}");
    }
    assert_contains(&stderr(&mut monitor), &["exists already"]);
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
