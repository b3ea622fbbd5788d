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
        child = start(if broken.join("last.safetensors").exists() {
            resume(&broken)
        } else {
            long(&data, &broken, "")
        });
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
    interrupt("", libc::SIGTERM, 130);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_with_gradient_accumulation_ends_bit_identical() {
    interrupt("--accumulate 3", libc::SIGTERM, 130);
}

#[cfg(unix)]
#[test]
fn a_run_that_gets_sigusr1_exits_with_75_and_ends_bit_identical() {
    interrupt("", libc::SIGUSR1, 75);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_in_fp16_with_loss_scaling_ends_bit_identical() {
    // The initial scale is so high that steps are skipped; then it falls and rises by DeepSpeed's rule.
    let words = "--precision fp16 --loss-scale deepspeed --epochs 20";
    interrupt(words, libc::SIGTERM, 130);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_in_bf16_ends_bit_identical() {
    interrupt("--precision bf16 --epochs 20", libc::SIGTERM, 130);
}

#[cfg(unix)]
fn interrupt(words: &str, signal: i32, saved: i32) {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 40);
    let (whole, broken) = (dir.path().join("whole"), dir.path().join("broken"));
    succeeds(&mut long(&data, &whole, words));
    let code = interrupted(&mut long(&data, &broken, words), &broken, signal);
    if code == Some(saved) {
        succeeds(&mut resume(&broken));
    } else {
        assert_eq!(code, Some(0), "the signal came after the last step");
    }
    assert_same(&whole, &broken);
}

/// A data set, and the folder of a run of two epochs over it.
fn trained(dir: &Path) -> (PathBuf, PathBuf) {
    let (data, run) = (tiny_forest(dir, 24), dir.join("run"));
    succeeds(&mut long(&data, &run, "--epochs 2"));
    (data, run)
}

#[test]
fn a_damaged_checkpoint_is_refused_by_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let (_, run) = trained(dir.path());
    let [best, last] = ["best.safetensors", "last.safetensors"].map(|name| run.join(name));
    for path in [&best, &last] {
        let mut bytes = fs::read(path).unwrap();
        // One bit of the last tensor: the file is still valid safetensors.
        *bytes.last_mut().unwrap() ^= 4;
        fs::write(path, bytes).unwrap();
    }
    let cloud = dir.path().join("ball.xyz");
    write_xyz(&cloud, shape(0, 7));
    for (words, paths, file) in [
        ("train --resume", vec![&run], &last),
        ("eval", vec![&run], &best),
        ("eval --weights", vec![&last, &run], &best),
        ("predict", vec![&run, &cloud], &best),
        ("predict", vec![&last, &cloud], &last),
    ] {
        let said = stderr(canopy(words).args(paths));
        assert_contains(&said, &[file.to_str().unwrap(), "checksum"]);
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = trained(dir.path());
    let other = dir.path().join("other");
    succeeds(&mut long(&data, &other, "--epochs 2 --seed 7"));
    for file in ["last.safetensors", "best.safetensors"] {
        fs::copy(other.join(file), run.join(file)).unwrap();
    }
    for words in ["eval", "train --resume"] {
        let said = stderr(canopy(words).arg(&run));
        assert_contains(&said, &["another run", "seed: 7 instead of 1"]);
    }
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

#[test]
fn eval_and_predict_take_the_same_weights() {
    let dir = tempfile::tempdir().unwrap();
    let (_, run) = trained(dir.path());
    let last = run.join("last.safetensors");
    // The last epoch is the best one in this run or not: what counts is that a checkpoint is taken either way.
    let of_run = stdout(canopy("eval --json --weights").arg(&last).arg(&run));
    assert_eq!(of_run, stdout(canopy("eval --json").arg(&last)));
}

#[test]
fn a_final_model_is_trained_on_all_data() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (tiny_forest(dir.path(), 24), dir.path().join("run"));
    let output = succeeds(&mut train(&data, &run, "--validation 0 --test 0 --epochs 3"));
    assert_contains(&text(&output.stderr), &["24 train, 0 validation, 0 test"]);
    assert!(text(&output.stdout).starts_with("no test set"));
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("There is no test set"));
    assert!(!run.join("evaluation.json").exists());
    // The weights that are kept are the last epoch's.
    let load = |file: &str| checkpoint::load(&run.join(file)).unwrap();
    let (best, last) = (load("best.safetensors"), load("last.safetensors"));
    assert_eq!(best.progress.best.unwrap().1, 3);
    let bits = |c: &checkpoint::Checkpoint| c.model["classifier.bias"].to_vec1::<f32>().unwrap();
    assert_eq!(bits(&best), bits(&last));
    let cloud = dir.path().join("ball.xyz");
    write_xyz(&cloud, shape(0, 7));
    succeeds(canopy("predict").arg(&run).arg(&cloud));
    assert_contains(&stderr(canopy("eval").arg(&run)), &["no test set"]);
}

#[test]
fn refuses_other_data_and_files_that_are_not_checkpoints() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = trained(dir.path());
    fs::remove_dir_all(&data).unwrap();
    tiny_forest(dir.path(), 28);
    assert_contains(&stderr(&mut resume(&run)), &["two data sets"]);
    fs::write(run.join("last.safetensors"), b"not a checkpoint").unwrap();
    assert_contains(&stderr(&mut resume(&run)), &["last.safetensors"]);
}

#[test]
fn a_run_with_zero_says_what_a_rank_keeps_and_resumes_with_other_ranks_and_another_stage() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (tiny_forest(dir.path(), 30), dir.path().join("run"));
    let words = "--epochs 2 --ranks 2 --zero 3 --checkpoint-seconds 0";
    let output = train(&data, &run, words).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_contains(
        &said,
        &[
            "2 ranks · ZeRO 3",
            "rank 0 keeps, with ZeRO 3",
            "predicted:",
            "of parameters",
        ],
    );
    let path = run.display();
    let said = stderr(&mut canopy(&format!(
        "train --resume {path} --ranks 2 --epochs 3"
    )));
    assert_contains(&said, &["--zero", "remove the other options"]);
    succeeds(&mut canopy(&format!("train --resume {path} --ranks 4 --zero 1")));
}
