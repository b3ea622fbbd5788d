//! `canopy train --points all`: clouds of different lengths, as it is typed.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

#[cfg(unix)]
use canopy::train::checkpoint;
use serde_json::Value;

/// A folder of clouds of 30 to 310 points, one sub-folder a species.
fn clouds(dir: &Path) -> PathBuf {
    let path = dir.join("clouds");
    for (kind, species) in ["ball", "cone", "box"].iter().enumerate() {
        fs::create_dir_all(path.join(species)).unwrap();
        for tree in 0..14u64 {
            let length = 30 + (tree as usize * 97 + kind * 31) % 281;
            let all = (0..4).flat_map(|part| program::shape(kind, 1000 * part + 14 * kind as u64 + tree));
            let lines: Vec<String> = all.take(length).map(|[x, y, z]| format!("{x} {y} {z}")).collect();
            let file = path.join(species).join(format!("{species}{tree}.xyz"));
            fs::write(file, lines.join("\n")).unwrap();
        }
    }
    path
}

fn canopy(args: &[&str], paths: &[&Path]) -> Command {
    let mut command = program::canopy();
    command.args(args).args(paths);
    command
}

fn train(data: &Path, run: &Path, more: &[&str]) -> Command {
    let mut command = canopy(&["train", "--data"], &[data]);
    command.arg("--out").arg(run);
    command.args([
        "--points",
        "all",
        "--max-points",
        "250",
        "--batch",
        "4",
        "--width",
        "16",
        "--device",
        "cpu",
    ]);
    command.args(["--epochs", "60", "--warmup", "1", "--checkpoint-seconds", "0"]);
    command.args(more);
    command
}

fn succeeds(output: Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    String::from_utf8(output.stdout).unwrap()
}

/// All tensors of a run's last checkpoint, by name.
#[cfg(unix)]
fn tensors(run: &Path) -> Vec<(String, Vec<f32>)> {
    let saved = checkpoint::load(&run.join("last.safetensors")).unwrap();
    let all = saved.model.iter().chain(&saved.optimizer);
    let mut all: Vec<_> = all
        .filter(|(name, _)| *name != "step")
        .map(|(name, t)| (name.clone(), t.flatten_all().unwrap().to_vec1().unwrap()))
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn clouds_of_all_lengths_are_learnt_evaluated_and_predicted() {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (clouds(dir.path()), dir.path().join("run"));
    succeeds(train(&data, &run, &[]).output().unwrap());
    let config = fs::read_to_string(run.join("config.toml")).unwrap();
    assert!(
        config.contains("points = \"all\"") && config.contains("max-points = 250"),
        "{config}"
    );

    let scores = succeeds(
        canopy(&["eval", "--json", "--part", "all"], &[&run])
            .output()
            .unwrap(),
    );
    let scores: Value = serde_json::from_str(&scores).unwrap();
    let accuracy = scores["accuracy"].as_f64().unwrap();
    assert!(accuracy > 0.7, "{scores}");

    // A cloud's probabilities do not depend on how long the clouds beside it are.
    let cloud = data.join("ball/ball3.xyz");
    let alone = succeeds(
        canopy(&["predict", "--format", "csv"], &[&run, &cloud])
            .output()
            .unwrap(),
    );
    let among = succeeds(
        canopy(
            &["predict", "--format", "csv"],
            &[&run, &cloud, &data.join("box/box1.xyz")],
        )
        .output()
        .unwrap(),
    );
    let row = |text: &str| {
        text.lines()
            .find(|line| line.contains("ball3"))
            .unwrap()
            .to_owned()
    };
    let numbers = |text: &str| -> Vec<f64> {
        let words = row(text).replace([',', '%'], " ");
        words
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect()
    };
    approx::assert_relative_eq!(numbers(&alone)[..], numbers(&among)[..], epsilon = 2e-3);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_continues_bit_identically() {
    let dir = tempfile::tempdir().unwrap();
    let data = clouds(dir.path());
    let [whole, broken] = ["whole", "broken"].map(|name| dir.path().join(name));
    succeeds(train(&data, &whole, &[]).output().unwrap());
    let mut child = train(&data, &broken, &[]).spawn().unwrap();
    while !broken.join("last.safetensors").exists() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it could be interrupted"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // SAFETY: kill accepts any process number; this child has not been waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGTERM) }, 0);
    if child.wait().unwrap().code() == Some(130) {
        succeeds(canopy(&["train", "--resume"], &[&broken]).output().unwrap());
    }
    assert_eq!(tensors(&whole), tensors(&broken));
}

#[test]
fn settings_that_do_not_fit_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let data = clouds(dir.path());
    let run = dir.path().join("run");
    let message = program::stderr(&mut train(&data, &run, &["--ranks", "2"]));
    assert!(message.contains("one rank"), "{message}");
    let mut none = canopy(
        &["train", "--points", "all", "--max-points", "0", "--data"],
        &[&data],
    );
    let message = program::stderr(&mut none);
    assert!(message.contains("max-points is 0"), "{message}");
    let zero = canopy(&["train", "--points", "0"], &[]).output().unwrap();
    assert!(String::from_utf8_lossy(&zero.stderr).contains("above 0, or all"));
}
