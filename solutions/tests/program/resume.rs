//! A run that is interrupted at any moment, and resumed, ends bit-identical to an uninterrupted one.

use std::{
    collections::BTreeMap,
    process::{Child, Stdio},
    time::Duration,
};

use canopy::train::{EpochRow, checkpoint};

use crate::*;

/// Weights and optimizer state as bits, and the epochs without their times.
type State = (BTreeMap<String, Vec<u32>>, Vec<EpochRow>);

fn state(run: &Path) -> State {
    let saved = checkpoint::load(&run.join("last.safetensors")).unwrap();
    let tensors = saved.model.iter().chain(&saved.optimizer);
    let bits = tensors.map(|(name, t)| {
        let flat = t.to_dtype(candle_core::DType::F32).unwrap();
        let numbers: Vec<f32> = flat.flatten_all().unwrap().to_vec1().unwrap();
        (name.clone(), numbers.into_iter().map(f32::to_bits).collect())
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
pub fn assert_same(whole: &Path, broken: &Path) {
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

/// A run that is long enough to be interrupted, unless `words` say otherwise.
fn long(data: &Path, run: &Path, words: &str) -> Command {
    let epochs = if words.contains("--epochs") {
        ""
    } else {
        "--epochs 40"
    };
    let usual = "--checkpoint-seconds 0 --evaluate-every 2 --workers 2 --model full";
    train(data, run, &format!("{epochs} {usual} {words}"))
}

fn resume(run: &Path) -> Command {
    let mut command = canopy("train --resume");
    command.arg(run);
    command
}

#[test]
fn a_run_that_is_killed_many_times_ends_bit_identical() {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 40);
    let (whole, broken) = (dir.path().join("whole"), dir.path().join("broken"));
    succeeds(&mut long(&data, &whole, ""));
    let start = |mut command: Command| -> Child {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.spawn().unwrap()
    };
    let mut random = Philox::new(11, 0);
    let mut child = start(long(&data, &broken, ""));
    let (mut resumed, mut longer) = (0, 0);
    // On a slow machine a run may be killed each time before it has done anything; the last one is not killed.
    while resumed < 40 {
        std::thread::sleep(Duration::from_millis(20 + longer + random.below(150) as u64));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Before its first checkpoint a run cannot be resumed. The same command starts it again, and it gets more time.
        child = start(if broken.join("last.safetensors").exists() {
            resumed += 1;
            resume(&broken)
        } else {
            longer += 20;
            long(&data, &broken, "")
        });
    }
    assert!(child.wait().unwrap().success());
    assert!(
        resumed > 0,
        "the run ended before it could be killed and resumed: make it longer"
    );
    assert_same(&whole, &broken);
}

/// A run that is interrupted saves, exits with the code of its signal, and ends bit-identical when it is resumed.
#[cfg(unix)]
#[test]
fn interrupted_runs_save_and_end_bit_identical_when_resumed() {
    for (words, signal, saved) in [
        ("", libc::SIGTERM, 130),
        ("--accumulate 3", libc::SIGTERM, 130),
        ("", libc::SIGUSR1, 75),
        // The initial scale is so high that steps are skipped; then it falls and rises.
        (
            "--precision fp16 --loss-scale dynamic:16:4 --epochs 20",
            libc::SIGTERM,
            130,
        ),
        ("--precision bf16 --epochs 20", libc::SIGTERM, 130),
        (
            "--target volume --head bins --bins 5 --visible 0.6 --categories season --epochs 20",
            libc::SIGINT,
            130,
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let data = tiny_forest(dir.path(), 40);
        let (whole, broken) = (dir.path().join("whole"), dir.path().join("broken"));
        succeeds(&mut long(&data, &whole, words));
        let code = interrupted(&mut long(&data, &broken, words), &broken, signal);
        if code == Some(saved) {
            succeeds(&mut resume(&broken));
        } else {
            assert_eq!(code, Some(0), "{words}: the signal came after the last step");
        }
        assert_same(&whole, &broken);
    }
}

/// The clouds without extent were never part of the run.
#[cfg(unix)]
#[test]
fn a_run_whose_data_lost_clouds_without_extent_resumes_and_ends_bit_identical() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    listed::wood(d);
    let (wood, whole, broken) = (d.join("wood"), d.join("whole"), d.join("broken"));
    let cached = |mut command: Command| {
        command.env("CANOPY_CACHE", d.join("cache"));
        command
    };
    succeeds(&mut cached(long(&wood, &whole, "")));
    interrupted(&mut cached(long(&wood, &broken, "")), &broken, libc::SIGTERM);

    let lost = ["ball/p3/flat.xyz", "cone/p5/one.xyz"];
    for lost in lost {
        fs::remove_file(wood.join(lost)).unwrap();
    }
    let other = wood.join("box/p0/t0.xyz");
    let points = fs::read(&other).unwrap();
    fs::remove_file(&other).unwrap();
    assert_contains(&stderr(&mut cached(resume(&broken))), &["two data sets"]);
    fs::write(&other, points).unwrap();

    succeeds(&mut cached(resume(&broken)));
    assert_same(&whole, &broken);
    let scores = |run: &Path| {
        let mut eval = canopy("eval --part validation --json");
        eval.arg(run);
        stdout(&mut cached(eval))
    };
    assert_eq!(scores(&broken), scores(&whole));
}

/// A limit on file sizes fails like a full disk: a write returns an error in the middle of the file.
#[cfg(unix)]
#[test]
fn after_a_full_disk_at_the_first_checkpoint_the_same_command_works() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (tiny_forest(dir.path(), 24), dir.path().join("run"));
    let train = |limit: &str| {
        // SIGXFSZ would kill the program; ignored, the write returns an error. 16 blocks are 8 or 16 KiB.
        let line = format!(
            "trap '' XFSZ; {limit} exec \"$CANOPY\" train --epochs 4 --batch 4 --points 48 --width 8 --data \"$1\" --out \"$2\""
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &line, "sh"]).arg(&data).arg(&run);
        shell.env("CANOPY", env!("CARGO_BIN_EXE_canopy"));
        shell
    };
    let said = stderr(&mut train("ulimit -f 16;"));
    assert_contains(&said, &["safetensors could not be written"]);
    assert!(run.join("metrics.jsonl").exists() && !run.join("last.safetensors").exists());
    succeeds(&mut train(""));
    let rows = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    assert_eq!(rows.lines().count(), 4);
}

/// A message that cannot be printed is lost, and the run goes on.
#[cfg(target_os = "linux")]
#[test]
fn a_run_ends_without_standard_error() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (tiny_forest(dir.path(), 24), dir.path().join("run"));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = train(&data, &run, "--epochs 1").stderr(full).status().unwrap();
    assert!(status.success(), "{status}");
    assert!(run.join("report.html").is_file());
}
