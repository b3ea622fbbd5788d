//! A run that is broken off, at whatever moment and however, ends with the same numbers as an unbroken one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod program;

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Child, Stdio},
    time::Duration,
};

use canopy::{report::EpochRow, train::checkpoint};
use canopy_data::Philox;

/// Weights and optimizer state as bits, and the epochs without what a clock decides.
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

/// Holds that two runs ended alike, and says where they first part.
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
fn a_run_killed_again_and_again_gives_the_same_bits() {
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
        // Before the first checkpoint there is nothing to go on from: then the run starts anew.
        child = if broken.join("last.safetensors").exists() {
            resume(&broken)
        } else {
            let _ = std::fs::remove_dir_all(&broken);
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
fn an_interrupted_run_saves_says_how_to_go_on_and_gives_the_same_bits() {
    interrupt(&[], libc::SIGTERM, 130);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_that_accumulates_gives_the_same_bits() {
    interrupt(&["--accumulate", "3"], libc::SIGTERM, 130);
}

#[cfg(unix)]
#[test]
fn a_run_that_the_scheduler_signals_asks_to_be_queued_again_and_gives_the_same_bits() {
    interrupt(&[], libc::SIGUSR1, 75);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_in_fp16_with_a_loss_scale_gives_the_same_bits() {
    // The scale begins so high that steps are left out, and rises and falls as DeepSpeed's does.
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

#[test]
fn other_data_and_another_models_checkpoint_are_refused() {
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
