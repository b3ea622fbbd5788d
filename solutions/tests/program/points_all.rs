//! `canopy train --points all`: clouds of different lengths.

#[cfg(unix)]
use canopy::train::checkpoint;

use crate::*;

/// A folder of clouds of 30 to 310 points, one sub-folder per species.
fn clouds(dir: &Path) -> PathBuf {
    let path = dir.join("clouds");
    for (kind, species) in ["ball", "cone", "box"].iter().enumerate() {
        fs::create_dir_all(path.join(species)).unwrap();
        for tree in 0..14u64 {
            let length = 30 + (tree as usize * 97 + kind * 31) % 281;
            let all = (0..4).flat_map(|part| shape(kind, 1000 * part + 14 * kind as u64 + tree));
            write_xyz(
                &path.join(species).join(format!("{species}{tree}.xyz")),
                all.take(length),
            );
        }
    }
    path
}

fn train(data: &Path, run: &Path, words: &str) -> Command {
    let mut command = canopy("train --points all --max-points 250 --batch 4 --width 16 --device cpu");
    command.args("--epochs 60 --warmup 1 --checkpoint-seconds 0".split_whitespace());
    command.args(words.split_whitespace());
    command.arg("--data").arg(data).arg("--out").arg(run);
    command
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
    succeeds(&mut train(&data, &run, ""));
    let config = fs::read_to_string(run.join("config.toml")).unwrap();
    assert_contains(&config, &["points = \"all\"", "max-points = 250"]);

    let scores = json(canopy("eval --json --part all").arg(&run));
    assert!(scores["accuracy"].as_f64().unwrap() > 0.7, "{scores}");

    // A cloud's probabilities do not depend on how long the clouds beside it are.
    let cloud = data.join("ball/ball3.xyz");
    let numbers = |others: &[PathBuf]| -> Vec<f64> {
        let mut predict = canopy("predict --format csv");
        let text = stdout(predict.arg(&run).arg(&cloud).args(others));
        let row = text.lines().find(|line| line.contains("ball3")).unwrap();
        let words = row.replace([',', '%'], " ");
        words
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect()
    };
    let among = numbers(&[data.join("box/box1.xyz")]);
    approx::assert_relative_eq!(numbers(&[])[..], among[..], epsilon = 2e-3);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_continues_bit_identically() {
    let dir = tempfile::tempdir().unwrap();
    let data = clouds(dir.path());
    let [whole, broken] = ["whole", "broken"].map(|name| dir.path().join(name));
    succeeds(&mut train(&data, &whole, ""));
    if interrupted(&mut train(&data, &broken, ""), &broken, libc::SIGTERM) == Some(130) {
        succeeds(canopy("train --resume").arg(&broken));
    }
    assert_eq!(tensors(&whole), tensors(&broken));
}

#[test]
fn settings_that_do_not_fit_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let data = clouds(dir.path());
    let run = dir.path().join("run");
    assert_contains(&stderr(&mut train(&data, &run, "--ranks 2")), &["one rank"]);
    for (points, part) in [
        ("0", "max-points is 0"),
        ("20000000", "expected 1 to 16777216 points"),
    ] {
        let mut train = canopy(&format!("train --points all --max-points {points} --data"));
        assert_contains(&stderr(train.arg(&data)), &[part]);
    }
    let zero = canopy("train --points 0").output().unwrap();
    assert_contains(&text(&zero.stderr), &["above 0, or all"]);
}
