//! `canopy predict` on point files and on everything that `canopy train --data` takes.

use crate::*;

/// A run of one epoch, its data set of 18 clouds, and that set as files.
fn home() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (data, run) = (tiny_forest(dir.path(), 18), dir.path().join("run"));
    succeeds(&mut train(&data, &run, "--epochs 1"));
    let mut convert = canopy("data convert");
    succeeds(convert.arg(&data).arg(dir.path().join("files")));
    (dir, run, data)
}

fn predict(run: &Path, path: &Path, format: &str) -> Command {
    let mut command = canopy(&format!("predict --format {format}"));
    command.env("CANOPY_CACHE", run.with_file_name("cache"));
    command.arg(run).arg(path);
    command
}

#[test]
fn every_cloud_of_every_kind_of_data_set_is_predicted_and_compared() {
    let (dir, run, shards) = home();
    let files = dir.path().join("files");
    let check = |path: &Path| {
        let value = json(&mut predict(&run, path, "json"));
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

    let table = stdout(&mut predict(&run, &shards, "table"));
    assert_eq!(table.lines().count(), 20, "{table}");
    assert_contains(&table, &["of 18 clouds"]);
    let csv = succeeds(&mut predict(&run, &shards, "csv"));
    let first = "file,species,label,p(ball),p(cone),p(box)";
    assert_eq!(text(&csv.stdout).lines().next(), Some(first));
    assert_contains(&text(&csv.stderr), &["of 18 clouds"]);
}

#[test]
fn point_files_have_no_accuracy_and_unknown_species_do_not_count() {
    let (dir, run, shards) = home();
    let files = dir.path().join("files");
    let one = files.join("ball/p0/t0.laz");
    let value = json(&mut predict(&run, &one, "json"));
    assert_eq!(value["clouds"].as_array().unwrap().len(), 1);
    assert!(value["accuracy"].is_null());
    // Point files directly in a folder, without labels.
    let flat = dir.path().join("flat");
    fs::create_dir(&flat).unwrap();
    for i in 0..3 {
        fs::copy(&one, flat.join(format!("{i}.laz"))).unwrap();
    }
    let value = json(&mut predict(&run, &flat, "json"));
    assert_eq!(value["clouds"].as_array().unwrap().len(), 3);

    let labels = files.join("labels.csv");
    let table = fs::read_to_string(&labels).unwrap().replace(",ball,", ",elm,");
    fs::write(&labels, table).unwrap();
    let accuracy = &json(&mut predict(&run, &files, "json"))["accuracy"];
    assert_eq!(
        (&accuracy["of"], &accuracy["unknown_species"]),
        (&12.into(), &6.into())
    );

    let error = stderr(&mut predict(&run, &shards.join("shard-0000.safetensors"), "json"));
    assert_contains(&error, &["give the folder"]);
}
