//! The `canopy` program as a user types it: what it prints, what it writes, how it exits.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod listed;
mod memory;
mod mpi;
mod profiling;
mod resume;
mod scores;
mod sweep;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use canopy_data::{Cloud, Inventory, Philox, Scan, Season, Site, TreeRecord, shard};
use serde_json::Value;

/// The program under test with these space-separated arguments, away from the user's cache.
fn canopy(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_canopy"));
    command.args(words.split_whitespace()).env_remove("CANOPY_CACHE");
    command
}

/// `canopy train` of a small model on the data set `data` into the folder `run`.
fn train(data: &Path, run: &Path, words: &str) -> Command {
    let points = if words.contains("--points") {
        ""
    } else {
        "--points 48"
    };
    let mut command = canopy(&format!(
        "train --batch 4 --width 16 --device cpu {points} {words}"
    ));
    command.arg("--data").arg(data).arg("--out").arg(run);
    command
}

/// Runs a command that must succeed.
#[track_caller]
fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    output
}

/// Runs a command that must succeed, and returns its standard output.
#[track_caller]
fn stdout(command: &mut Command) -> String {
    text(&succeeds(command).stdout)
}

/// Runs a command that must succeed and print JSON.
#[track_caller]
fn json(command: &mut Command) -> Value {
    serde_json::from_str(&stdout(command)).unwrap()
}

/// Runs a command that must fail with exit code 1, and returns its standard error.
#[track_caller]
fn stderr(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{command:?}: {stderr}");
    stderr
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks that `text` contains all of `parts`.
#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

/// Writes a shard folder of `n` clouds of 50 to 80 points on 6 plots: spheres, cones and boxes, which are easy to classify.
fn tiny_forest(dir: &Path, n: usize) -> PathBuf {
    let path = dir.join("tiny");
    let meta = shard::Meta {
        name: "tiny".into(),
        species: ["ball", "cone", "box"].map(String::from).to_vec(),
        ..shard::Meta::default()
    };
    let mut writer = shard::Writer::create(&path, meta).unwrap();
    for i in 0..n {
        let record = TreeRecord {
            tree: format!("t{i}"),
            species: i % 3,
            plot: format!("p{}", i / 3 % 6),
            scan: Scan::Tls,
            source: format!("made {i}"),
            inventory: Some(Inventory {
                height: 1.0 + (i % 3) as f32,
                diameter: 0.1 + 0.01 * i as f32,
                volume: 0.5 + 0.1 * (i % 5) as f32,
                site: if i % 2 == 0 { Site::Poor } else { Site::Good },
                season: Season::Summer,
            }),
        };
        let mut points = shape(i % 3, i as u64);
        points.truncate(50 + 7 * i % 31);
        let cloud = Cloud::from_points(points);
        writer.push(&record, &cloud).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// Returns 80 points of a shape: 0 is a ball, 1 a cone, any other a box.
fn shape(kind: usize, seed: u64) -> Vec<[f32; 3]> {
    let mut r = Philox::new(seed, 77);
    let point = |_| {
        let mut p = [0; 3].map(|_| r.uniform() * 2.0 - 1.0);
        match kind {
            0 => {
                let norm = p.iter().map(|c| c * c).sum::<f32>().sqrt().max(1e-3);
                p = p.map(|c| c / norm);
            }
            1 => {
                let wide = (1.0 - p[2]) / 2.0;
                p = [p[0] * wide, p[1] * wide, p[2] * 2.0];
            }
            _ => {}
        }
        p
    };
    (0..80).map(point).collect()
}

/// Writes points as a text file.
fn write_xyz(path: &Path, points: impl IntoIterator<Item = [f32; 3]>) {
    let lines = points.into_iter().map(|[x, y, z]| format!("{x} {y} {z}\n"));
    fs::write(path, lines.collect::<String>()).unwrap();
}

/// Starts a run, and sends it `signal` when it has written a checkpoint. Returns its exit code.
#[cfg(unix)]
fn interrupted(command: &mut Command, run: &Path, signal: i32) -> Option<i32> {
    let mut child = command.spawn().unwrap();
    let saved = run.join("last.safetensors");
    while !saved.exists() {
        let has_ended = child.try_wait().unwrap().is_some();
        assert!(
            !has_ended || saved.exists(),
            "it ended before it could be interrupted"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // SAFETY: kill takes any process number; this child has not been waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
    child.wait().unwrap().code()
}
