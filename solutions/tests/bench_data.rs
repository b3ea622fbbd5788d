//! `canopy bench data`, small: what it says is whole, and every format gives the same points.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::process::Command;

use serde_json::Value;

#[test]
fn every_format_reads_the_same_number_of_points_and_nothing_is_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_canopy"))
        .args(["bench", "data", "--json", "--points", "5000", "--repeats", "1"])
        .args(["--steps", "2", "--batch", "4"])
        .env("TMPDIR", dir.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let read = found["read"].as_array().unwrap();
    let files: Vec<&str> = read.iter().map(|r| r["file"].as_str().unwrap()).collect();
    assert_eq!(
        files,
        ["tree.laz", "tree.las", "tree.xyz", "tree.ply", "tree.safetensors"]
    );
    for r in read {
        assert_eq!(r["points"], 5000, "{r}");
        for field in ["bytes", "seconds", "points_per_second", "mb_per_second"] {
            assert!(r[field].as_f64().unwrap() > 0.0, "{field} of {r}");
        }
    }
    let thinned = found["thinned"].as_array().unwrap();
    let kept: Vec<u64> = thinned.iter().map(|t| t["kept"].as_u64().unwrap()).collect();
    assert_eq!(kept, [1024; 3]);
    let stored = found["stored"].as_array().unwrap();
    assert!(
        stored.len() == 5
            && stored
                .iter()
                .all(|s| s["clouds_per_second"].as_f64().unwrap() > 0.0)
    );
    let workers: Vec<u64> = found["loader"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l["workers"].as_u64().unwrap())
        .collect();
    assert_eq!(workers, [1, 2, 3, 4]);
    let share = found["training"]["waited_share"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&share), "{share}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_missing_file_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_canopy"))
        .args(["bench", "data", "no such tree.laz"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no such tree.laz"));
}
