//! `canopy predict` on point files and on everything that `canopy train --data` takes.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod program;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use program::{canopy, tiny_forest};
use serde_json::Value;

/// A run of one epoch, its data set of 18 clouds, and that set as files.
fn home() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let data = tiny_forest(dir.path(), 18);
    let run = dir.path().join("run");
    let mut train = canopy();
    train.args([
        "train", "--epochs", "1", "--batch", "4", "--points", "48", "--width", "16",
    ]);
    let output = train
        .arg("--data")
        .arg(&data)
        .arg("--out")
        .arg(&run)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut convert = canopy();
    convert
        .args(["data", "convert"])
        .arg(&data)
        .arg(dir.path().join("files"));
    assert!(convert.output().unwrap().status.success());
    (dir, run, data)
}

fn predict(run: &Path, paths: &[&Path], format: &str) -> Output {
    let mut command = canopy();
    command.env("CANOPY_CACHE", run.with_file_name("cache"));
    command
        .arg("predict")
        .arg(run)
        .args(paths)
        .args(["--format", format]);
    command.output().unwrap()
}

fn json(run: &Path, path: &Path) -> Value {
    let output = predict(run, &[path], "json");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_cloud_of_every_kind_of_data_set_is_predicted_and_compared() {
    let (dir, run, shards) = home();
    let files = dir.path().join("files");
    let check = |path: &Path| {
        let value = json(&run, path);
        let clouds = value["clouds"].as_array().unwrap();
        assert_eq!(clouds.len(), 18, "{}", path.display());
        let correct = clouds.iter().filter(|c| c["species"] == c["label"]).count();
        let accuracy = &value["accuracy"];
        assert_eq!(
            (&accuracy["correct"], &accuracy["of"]),
            (&correct.into(), &18.into())
        );
        assert_eq!(accuracy["value"].as_f64().unwrap(), correct as f64 / 18.0);
    };
    check(&shards);
    check(&files);
    check(&files.join("labels.csv"));
    fs::rename(files.join("labels.csv"), dir.path().join("kept.csv")).unwrap();
    check(&files);

    let table = predict(&run, &[&shards], "table");
    let text = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(
        text.lines().count() == 20 && text.contains("of 18 clouds"),
        "{text}"
    );
    let csv = predict(&run, &[&shards], "csv");
    let first = String::from_utf8_lossy(&csv.stdout)
        .lines()
        .next()
        .unwrap()
        .to_owned();
    assert_eq!(first, "file,species,label,p(ball),p(cone),p(box)");
    assert!(String::from_utf8_lossy(&csv.stderr).contains("of 18 clouds"));
}

#[test]
fn point_files_have_no_accuracy_and_unknown_species_do_not_count() {
    let (dir, run, shards) = home();
    let files = dir.path().join("files");
    let one = files.join("ball/p0/t0.laz");
    let value = json(&run, &one);
    assert_eq!(
        (value["clouds"].as_array().unwrap().len(), &value["accuracy"]),
        (1, &Value::Null)
    );
    // Point files directly in a folder, without labels.
    let flat = dir.path().join("flat");
    fs::create_dir(&flat).unwrap();
    for i in 0..3 {
        fs::copy(&one, flat.join(format!("{i}.laz"))).unwrap();
    }
    assert_eq!(json(&run, &flat)["clouds"].as_array().unwrap().len(), 3);

    let table = fs::read_to_string(files.join("labels.csv"))
        .unwrap()
        .replace(",ball,", ",elm,");
    fs::write(files.join("labels.csv"), table).unwrap();
    let accuracy = &json(&run, &files)["accuracy"];
    assert_eq!(
        (&accuracy["of"], &accuracy["unknown_species"]),
        (&12.into(), &6.into())
    );

    let output = predict(&run, &[&shards.join("shard-0000.safetensors")], "json");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(1) && error.contains("give the folder"),
        "{error}"
    );
}
