//! `--profile`, `canopy profile` and `canopy monitor` on the command line.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod program;

use std::{fs, path::Path, process::Output};

use canopy::profile::{Kind, Span, Timeline, from_chrome, pieces, totals};
use serde_json::Value;

fn train(data: &Path, run: &Path, more: &[&str]) -> Output {
    let mut command = program::canopy();
    command.args(["train", "--data"]).arg(data).arg("--out").arg(run);
    command.args([
        "--epochs", "2", "--batch", "4", "--points", "48", "--width", "16", "--device", "cpu",
    ]);
    command.args(more).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn weights(run: &Path) -> Vec<u8> {
    fs::read(run.join("best.safetensors")).unwrap()
}

#[test]
fn a_profiled_run_trains_the_same_weights_and_writes_files_that_can_be_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let data = program::tiny_forest(dir.path(), 36);
    let (plain, profiled) = (dir.path().join("plain"), dir.path().join("profiled"));
    assert!(train(&data, &plain, &[]).status.success());
    let out = train(&data, &profiled, &["--profile", "--nvtx", "--monitor", "0.05"]);
    let said = text(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert!(said.contains("bound") && said.contains("kernels"), "{said}");
    assert_eq!(
        weights(&plain),
        weights(&profiled),
        "profiling changes the weights"
    );
    assert!(!plain.join("profile").exists());

    let trace = fs::read_to_string(profiled.join("profile/trace.json")).unwrap();
    let timeline = from_chrome(&trace).unwrap();
    let count = |name: &str, kind: Kind| {
        let of = timeline.spans.iter().filter(|s| s.name == name && s.kind == kind);
        of.count()
    };
    let steps = count("step", Kind::Other);
    assert!(steps >= 2, "{steps} steps");
    for name in ["forward", "loss", "backward", "optimizer"] {
        assert_eq!(count(name, Kind::Kernel), steps, "{name}");
    }
    assert!(count("next batch", Kind::Load) > steps && count("evaluate", Kind::Other) >= 1);
    for file in ["flame.svg", "timeline.svg", "summary.json", "summary.txt"] {
        assert!(profiled.join("profile").join(file).is_file(), "{file}");
    }
    let log = fs::read_to_string(profiled.join("monitor.csv")).unwrap();
    assert!(
        log.starts_with("timestamp,seconds,bus_id") && log.ends_with('\n'),
        "{log}"
    );

    let again = program::canopy()
        .arg("profile")
        .arg(&profiled)
        .arg("--json")
        .output()
        .unwrap();
    let shown: Value = serde_json::from_slice(&again.stdout).unwrap();
    let kept = fs::read_to_string(profiled.join("profile/summary.json")).unwrap();
    assert_eq!(shown, serde_json::from_str::<Value>(&kept).unwrap());
    let part = program::canopy()
        .arg("profile")
        .arg(profiled.join("profile/trace.json"))
        .args(["--from", "1e9"])
        .output()
        .unwrap();
    assert!(
        text(&part.stderr).contains("the trace ends at"),
        "{}",
        text(&part.stderr)
    );

    let mut eval = program::canopy();
    let eval = eval.arg("eval").arg(&profiled).arg("--profile").output().unwrap();
    assert!(eval.status.success(), "{}", text(&eval.stderr));
    assert!(profiled.join("profile-eval/flame.svg").is_file());
    let cloud = dir.path().join("ball.xyz");
    let lines = program::shape(0, 7)
        .into_iter()
        .map(|[x, y, z]| format!("{x} {y} {z}\n"));
    fs::write(&cloud, lines.collect::<String>()).unwrap();
    let mut predict = program::canopy();
    let predict = predict.arg("predict").arg(&profiled).arg(&cloud).arg("--profile");
    let said = predict.output().unwrap();
    assert!(said.status.success(), "{}", text(&said.stderr));
    let trace = fs::read_to_string(profiled.join("profile-predict/trace.json")).unwrap();
    let spans = from_chrome(&trace).unwrap().spans;
    for (name, kind) in [("next batch", Kind::Load), ("infer", Kind::Kernel)] {
        assert!(spans.iter().any(|s| s.name == name && s.kind == kind), "{name}");
    }
}

#[test]
fn a_window_within_a_span_keeps_the_nesting() {
    // In the order in which guards end them: the innermost first. Within the window, both have the same start and end.
    let spans = vec![
        Span::new("next batch", Kind::Load, 0, 10, 90),
        Span::new("step", Kind::Other, 0, 0, 100),
    ];
    let part = Timeline {
        spans,
        wall: 100,
        ..Timeline::default()
    }
    .window(40, 60);
    assert_eq!(part.wall, 20);
    let own: Vec<_> = totals(&part.spans).into_iter().map(|t| (t.name, t.own)).collect();
    assert_eq!(own, [("next batch".to_owned(), 20), ("step".to_owned(), 0)]);
    assert_eq!(
        pieces(&part.spans),
        [Span::new("next batch", Kind::Load, 0, 0, 20)]
    );
}

#[test]
fn a_kernel_table_is_summarised_and_a_damaged_one_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kernels.csv");
    fs::write(
        &path,
        "Time (%),Total Time (ns),Instances,Name\n75.0,3000000,10,gemm\n25.0,1000000,5,[CUDA memcpy HtoD]\n",
    )
    .unwrap();
    let out = program::canopy().arg("profile").arg(&path).output().unwrap();
    let said = text(&out.stdout);
    assert!(
        said.contains("4.000 ms on the device: 25.0 % copies") && said.contains("gemm"),
        "{said}"
    );
    fs::write(
        &path,
        "Time (%),Total Time (ns),Instances,Name\n75.0,often,10,gemm\n",
    )
    .unwrap();
    let said = program::stderr(program::canopy().arg("profile").arg(&path));
    assert!(
        said.contains("kernels.csv") && said.contains("row 2") && said.contains("'often'"),
        "{said}"
    );
    let said = program::stderr(program::canopy().arg("profile").arg(dir.path()));
    assert!(said.contains("canopy train --profile"), "{said}");
}

#[test]
fn a_monitor_takes_count_samples_and_never_overwrites() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("use.csv");
    let looks = |json: bool| {
        let mut command = program::canopy();
        command
            .args(["monitor", "--interval", "0.02", "--count", "3", "--out"])
            .arg(&path);
        if json {
            command.arg("--json");
        }
        command.output().unwrap()
    };
    let out = looks(true);
    if !out.status.success() && text(&out.stderr).contains("nothing to monitor") {
        println!("not run, because there is nothing to monitor here");
        return;
    }
    let lines: Vec<Value> = text(&out.stdout)
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let rows: Vec<Value> = csv::Reader::from_path(&path)
        .unwrap()
        .deserialize()
        .map(|row: Result<canopy::profile::monitor::Sample, _>| serde_json::to_value(row.unwrap()).unwrap())
        .collect();
    assert!(lines.len() >= 3 && rows == lines, "{lines:?}");
    let again = looks(false);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        text(&again.stderr).contains("exists already"),
        "{}",
        text(&again.stderr)
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_monitor_with_a_complete_file() {
    use std::{process::Stdio, time::Duration};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("use.csv");
    let mut command = program::canopy();
    command
        .args(["monitor", "--interval", "0.02", "--out"])
        .arg(&path);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let written = || fs::read_to_string(&path).map_or(0, |t| t.lines().count());
    for _ in 0..500 {
        if written() > 3 || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // SAFETY: the process is our own child, which has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let status = child.wait().unwrap();
    if written() == 0 {
        println!("not run, because there is nothing to monitor here");
        return;
    }
    assert!(status.success(), "Ctrl-C is the normal way to end it: {status}");
    assert!(fs::read_to_string(&path).unwrap().ends_with('\n'));
}
