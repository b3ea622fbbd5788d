//! A run that is interrupted at any moment, and resumed, ends bit-identical to an uninterrupted one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod program;

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Child, Stdio},
    time::Duration,
};

use canopy::train::{EpochRow, checkpoint};
use canopy_data::Philox;

/// Weights and optimizer state as bits, and the epochs without their times.
type State = (BTreeMap<String, Vec<u32>>, Vec<EpochRow>);

fn state(run: &Path) -> State {
    let saved = checkpoint::load(&run.join("last.safetensors")).unwrap();
    let tensors = saved.model.iter().chain(&saved.optimizer);
    let bits = tensors.map(|(name, t)| {
        let flat = t
            .to_dtype(candle_core::DType::F32)
            .unwrap()
            .flatten_all()
            .unwrap();
        (
            name.clone(),
            flat.to_vec1::<f32>()
                .unwrap()
                .iter()
                .map(|v| v.to_bits())
                .collect(),
        )
    });
    let text = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let row = |line: &str| {
        let row: EpochRow = serde_json::from_str(line).unwrap();
        EpochRow {
            seconds: 0.0,
            clouds_per_second: 0.0,
            ..row
        }
    };
    (bits.collect(), text.lines().map(row).collect())
}

/// Checks that two runs ended bit-identical, and reports the first difference.
fn assert_same(whole: &Path, broken: &Path) {
    let ((tensors, rows), (other_tensors, other_rows)) = (state(whole), state(broken));
    for (row, other) in rows.iter().zip(&other_rows) {
        assert_eq!(row, other, "the first epoch that differs");
    }
    assert_eq!(rows.len(), other_rows.len());
    for ((name, bits), (other_name, other_bits)) in tensors.iter().zip(&other_tensors) {
        assert_eq!(name, other_name);
        assert!(bits == other_bits, "{name} differs");
    }
}

fn start(data: &Path, run: &Path) -> Child {
    start_with(data, run, &[])
}

fn start_with(data: &Path, run: &Path, more: &[&str]) -> Child {
    let mut command = program::canopy();
    command.arg("train").args(more);
    if !more.contains(&"--epochs") {
        command.args(["--epochs", "40"]);
    }
    command.args(["--batch", "4", "--points", "48", "--width", "16"]);
    command.args([
        "--checkpoint-seconds",
        "0",
        "--evaluate-every",
        "2",
        "--workers",
        "2",
        "--model",
        "full",
    ]);
    command.arg("--data").arg(data).arg("--out").arg(run);
    command
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn resume(run: &Path) -> Child {
    let mut command = program::canopy();
    command.arg("train").arg("--resume").arg(run);
    command
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_run_that_is_killed_many_times_ends_bit_identical() {
    let dir = tempfile::tempdir().unwrap();
    let data = program::tiny_forest(dir.path(), 40);
    let (whole, broken) = (dir.path().join("whole"), dir.path().join("broken"));
    assert!(start(&data, &whole).wait().unwrap().success());
    let mut random = Philox::new(11, 0);
    let mut child = start(&data, &broken);
    let mut kills = 0;
    for kill in 0..200 {
        std::thread::sleep(Duration::from_millis(20 + random.below(150) as u64));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        // Before its first checkpoint a run cannot be resumed. The same command starts it again.
        child = if broken.join("last.safetensors").exists() {
            resume(&broken)
        } else {
            start(&data, &broken)
        };
        assert!(kill < 199, "the run never ended");
    }
    assert!(child.wait().unwrap().success());
    assert!(
        kills > 0,
        "the run ended before it could be killed: make it longer"
    );
    assert_same(&whole, &broken);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_saves_and_ends_bit_identical_when_resumed() {
    interrupt(&[], libc::SIGTERM, 130);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_with_gradient_accumulation_ends_bit_identical() {
    interrupt(&["--accumulate", "3"], libc::SIGTERM, 130);
}

#[cfg(unix)]
#[test]
fn a_run_that_gets_sigusr1_exits_with_75_and_ends_bit_identical() {
    interrupt(&[], libc::SIGUSR1, 75);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_in_fp16_with_loss_scaling_ends_bit_identical() {
    // The initial scale is so high that steps are skipped; then it falls and rises by DeepSpeed's rule.
    let more = [
        "--precision",
        "fp16",
        "--loss-scale",
        "deepspeed",
        "--epochs",
        "20",
    ];
    interrupt(&more, libc::SIGTERM, 130);
}

#[cfg(unix)]
fn interrupt(more: &[&str], signal: i32, saved: i32) {
    let dir = tempfile::tempdir().unwrap();
    let data = program::tiny_forest(dir.path(), 40);
    let (whole, broken) = (dir.path().join("whole"), dir.path().join("broken"));
    assert!(start_with(&data, &whole, more).wait().unwrap().success());
    let mut child = start_with(&data, &broken, more);
    while !broken.join("last.safetensors").exists() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it could be interrupted"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: kill takes any process number; this child has not been waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
    let code = child.wait().unwrap().code();
    if code == Some(saved) {
        assert!(resume(&broken).wait().unwrap().success());
    } else {
        assert_eq!(code, Some(0), "the signal came after the last step");
    }
    assert_same(&whole, &broken);
}

/// `canopy train` on a tiny forest, run to its end with `more` options.
fn trained(data: &Path, run: &Path, more: &[&str]) {
    assert!(start_with(data, run, more).wait().unwrap().success());
}

#[test]
fn a_damaged_checkpoint_is_refused_by_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (program::tiny_forest(dir.path(), 24), dir.path().join("run"));
    trained(&data, &run, &["--epochs", "2"]);
    for file in ["last.safetensors", "best.safetensors"] {
        let path = run.join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        // One bit of the last tensor: the file is still valid safetensors.
        *bytes.last_mut().unwrap() ^= 4;
        std::fs::write(&path, bytes).unwrap();
    }
    let cloud = dir.path().join("ball.xyz");
    std::fs::write(&cloud, "0 0 0\n1 0 0\n0 1 1\n").unwrap();
    let path = |name: &str| run.join(name).display().to_string();
    let (folder, cloud) = (path(""), cloud.display().to_string());
    let (best, last) = (path("best.safetensors"), path("last.safetensors"));
    for (words, file) in [
        (vec!["train", "--resume", &folder], &last),
        (vec!["eval", &folder], &best),
        (vec!["eval", &folder, "--weights", &last], &best),
        (vec!["predict", &folder, &cloud], &best),
        (vec!["predict", &last, &cloud], &last),
    ] {
        let said = program::stderr(program::canopy().args(&words));
        assert!(
            said.contains(file.as_str()) && said.contains("checksum"),
            "{words:?}: {said}"
        );
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = program::tiny_forest(dir.path(), 24);
    let (full, vanilla) = (dir.path().join("full"), dir.path().join("vanilla"));
    trained(&data, &full, &["--epochs", "2"]);
    trained(&data, &vanilla, &["--epochs", "2", "--seed", "7"]);
    for file in ["last.safetensors", "best.safetensors"] {
        std::fs::copy(vanilla.join(file), full.join(file)).unwrap();
    }
    let full = full.display().to_string();
    for words in [vec!["eval", &full], vec!["train", "--resume", &full]] {
        let said = program::stderr(program::canopy().args(&words));
        assert!(
            said.contains("another run") && said.contains("seed: 7 instead of 1"),
            "{words:?}: {said}"
        );
    }
}

/// A limit on file sizes fails like a full disk: a write returns an error in the middle of the file.
#[cfg(unix)]
#[test]
fn after_a_full_disk_at_the_first_checkpoint_the_same_command_works() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (program::tiny_forest(dir.path(), 24), dir.path().join("run"));
    let train = |limit: &str| {
        // SIGXFSZ would kill the program; ignored, the write returns an error. 16 blocks are 8 or 16 KiB.
        let line = format!(
            "trap '' XFSZ; {limit} exec \"$CANOPY\" train --epochs 4 --batch 4 --points 48 --width 8 \"$@\""
        );
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", &line, "sh", "--data"])
            .arg(&data)
            .arg("--out")
            .arg(&run);
        command
            .env("CANOPY", env!("CARGO_BIN_EXE_canopy"))
            .output()
            .unwrap()
    };
    let failed = train("ulimit -f 16;");
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(said.contains("safetensors could not be written"), "{said}");
    assert!(run.join("metrics.jsonl").exists() && !run.join("last.safetensors").exists());
    let again = train("");
    assert!(
        again.status.success(),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );
    let rows = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    assert_eq!(rows.lines().count(), 4);
}

#[test]
fn eval_and_predict_take_the_same_weights() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (program::tiny_forest(dir.path(), 24), dir.path().join("run"));
    trained(&data, &run, &["--epochs", "2"]);
    let scores = |arguments: &[&str]| {
        let mut command = program::canopy();
        let output = command
            .arg("eval")
            .args(arguments)
            .arg("--json")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    };
    let path = |name: &str| run.join(name).display().to_string();
    let (folder, last) = (path(""), path("last.safetensors"));
    // The last epoch is the best one in this run or not: what counts is that a checkpoint is taken either way.
    assert_eq!(scores(&[&folder, "--weights", &last]), scores(&[&last]));
}

#[test]
fn a_final_model_is_trained_on_all_data() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (program::tiny_forest(dir.path(), 24), dir.path().join("run"));
    let mut command = program::canopy();
    command.args([
        "train",
        "--validation",
        "0",
        "--test",
        "0",
        "--epochs",
        "3",
        "--batch",
        "4",
    ]);
    command
        .args(["--points", "48", "--width", "16", "--data"])
        .arg(&data)
        .arg("--out")
        .arg(&run);
    let output = command.output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{err}");
    assert!(err.contains("24 train, 0 validation, 0 test"), "{err}");
    assert!(out.starts_with("no test set"), "{out}");
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("There is no test set"));
    assert!(!run.join("evaluation.json").exists());
    // The weights that are kept are the last epoch's.
    let load = |file: &str| checkpoint::load(&run.join(file)).unwrap();
    let (best, last) = (load("best.safetensors"), load("last.safetensors"));
    assert_eq!(best.progress.best.unwrap().1, 3);
    let bits = |c: &checkpoint::Checkpoint| c.model["classifier.bias"].to_vec1::<f32>().unwrap();
    assert_eq!(bits(&best), bits(&last));
    let cloud = dir.path().join("ball.xyz");
    let lines = program::shape(0, 7)
        .into_iter()
        .map(|[x, y, z]| format!("{x} {y} {z}\n"));
    std::fs::write(&cloud, lines.collect::<String>()).unwrap();
    assert!(
        program::canopy()
            .arg("predict")
            .arg(&run)
            .arg(&cloud)
            .status()
            .unwrap()
            .success()
    );
    let said = program::stderr(program::canopy().arg("eval").arg(&run));
    assert!(said.contains("no test set"), "{said}");
}

#[test]
fn other_data_and_a_file_that_is_no_checkpoint_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = program::tiny_forest(dir.path(), 24);
    let run = dir.path().join("run");
    assert!(start(&data, &run).wait().unwrap().success());
    std::fs::remove_dir_all(&data).unwrap();
    program::tiny_forest(dir.path(), 28);
    let said = program::stderr(program::canopy().arg("train").arg("--resume").arg(&run));
    assert!(said.contains("two data sets"), "{said}");
    std::fs::write(run.join("last.safetensors"), b"not a checkpoint").unwrap();
    let said = program::stderr(program::canopy().arg("train").arg("--resume").arg(&run));
    assert!(said.contains("last.safetensors"), "{said}");
}
