//! `canopy bench data`, small: its output is complete, and every format gives the same points.

use crate::*;

#[test]
fn every_format_reads_the_same_number_of_points_and_no_file_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = canopy("bench data --json --points 5000 --repeats 1 --steps 2 --batch 4");
    let found = json(bench.env("TMPDIR", dir.path()));
    let all = |list: &str, field: &str| -> Vec<Value> {
        let rows = found[list].as_array().unwrap().iter();
        rows.map(|row| row[field].clone()).collect()
    };
    let files = ["tree.laz", "tree.las", "tree.xyz", "tree.ply", "tree.safetensors"];
    assert_eq!(all("read", "file"), files);
    assert_eq!(all("read", "points"), [5000; 5]);
    assert_eq!(all("thinned", "kept"), [1024; 3]);
    assert_eq!(all("loader", "workers"), [1, 2, 3, 4]);
    assert_eq!(all("stored", "file"), files);
    for (list, field) in [
        ("read", "bytes"),
        ("read", "seconds"),
        ("read", "points_per_second"),
        ("read", "mb_per_second"),
        ("stored", "clouds_per_second"),
    ] {
        for value in all(list, field) {
            assert!(value.as_f64().unwrap() > 0.0, "{list}, {field}: {value}");
        }
    }
    let share = found["training"]["waited_share"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&share), "{share}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_missing_file_is_named() {
    let mut bench = canopy("bench data");
    assert_contains(&stderr(bench.arg("no such tree.laz")), &["no such tree.laz"]);
}
