//! `canopy data` as a user types it: what it prints, what it leaves, how it ends.

#![allow(clippy::unwrap_used)] // in a test it is the assertion

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use canopy_data::{Cloud, formats};
use serde_json::Value;
use tempfile::TempDir;

fn canopy(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_canopy"))
        .arg("data")
        .args(args)
        .current_dir(dir)
        .env("CANOPY_CACHE", dir.join("cache"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Standard output of a command that must succeed.
fn done(dir: &Path, args: &[&str]) -> String {
    let out = canopy(dir, args);
    assert!(
        out.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).unwrap()
}

/// Standard error of a command that must fail with `code`.
fn fails(dir: &Path, args: &[&str], code: i32) -> String {
    let out = canopy(dir, args);
    let error = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(code), "{args:?}: {error}");
    assert!(!error.contains("panicked"), "{args:?}: {error}");
    error
}

fn json(dir: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&done(dir, args)).unwrap()
}

/// Two species on four plots, three trees each.
fn scans() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (s, species) in ["ash", "oak"].iter().enumerate() {
        for plot in 0..4 {
            for tree in 0..3 {
                let mark = (s * 100 + plot * 10 + tree) as f32;
                let points = (0..200)
                    .map(|i| [i as f32 * 0.1, mark, (i % 50) as f32])
                    .collect();
                let path = dir.path().join(format!("scans/{species}/p{plot}/t{tree}.laz"));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                formats::write(&path, &Cloud::from_points(points), &formats::Options::default()).unwrap();
            }
        }
    }
    dir
}

#[test]
fn a_folder_becomes_shards_is_described_split_and_written_out_again() {
    let dir = scans();
    let d = dir.path();
    let report = json(d, &["import", "folder", "scans", "--out", "set", "--json"]);
    assert_eq!((&report["trees"], &report["points"]), (&24.into(), &4_800.into()));

    let info = &json(d, &["info", "set", "--json"])[0];
    assert_eq!(
        (&info["scans"], &info["plots"], &info["digest"]),
        (&24.into(), &4.into(), &report["digest"])
    );
    assert!(done(d, &["info", "set"]).contains("24 scans, 4,800 points, 4 plots"));
    assert!(done(d, &["info", "scans"]).contains("recognised as folder, 24 trees"));

    let split = json(d, &["split", "set", "--json", "--out", "split.csv"]);
    assert_eq!(split["parts"]["validation"]["species"]["oak"], 3);
    assert_eq!(split["parts"]["train"]["plots"].as_array().unwrap().len(), 3);
    assert_eq!(
        fs::read_to_string(d.join("split.csv")).unwrap().lines().count(),
        25
    );
    assert!(done(d, &["split", "scans", "--folds", "4"]).contains("fold 3"));

    done(d, &["convert", "set", "out", "--to", "ply"]);
    let again = json(d, &["import", "csv", "out/labels.csv", "--out", "set2", "--json"]);
    assert_eq!((&again["trees"], &again["points"]), (&24.into(), &4_800.into()));
    let error = fails(d, &["convert", "set", "out"], 1);
    assert!(error.contains("out exists already"), "{error}");
}

#[test]
fn a_file_is_converted_sampled_and_shown() {
    let dir = scans();
    let d = dir.path();
    done(d, &["convert", "scans/oak/p0/t0.laz", "a.xyz"]);
    assert_eq!(formats::read(&d.join("a.xyz")).unwrap().len(), 200);
    assert!(fails(d, &["convert", "scans/oak/p0/t1.laz", "a.xyz"], 1).contains("--force"));
    for method in ["random", "voxel", "farthest"] {
        let args = [
            "sample", "a.xyz", "b.ply", "--points", "50", "--force", "--method", method,
        ];
        done(d, &args);
        let first = fs::read(d.join("b.ply")).unwrap();
        assert_eq!(formats::read(&d.join("b.ply")).unwrap().len(), 50);
        done(d, &args);
        assert_eq!(
            fs::read(d.join("b.ply")).unwrap(),
            first,
            "{method} is not the same from the same seed"
        );
    }
    done(d, &["convert", "scans", "flat", "--to", "xyz"]);
    assert!(d.join("flat/ash/p3/t2.xyz").is_file());
    done(
        d,
        &["view", "a.xyz", "scans", "--color", "species", "--out", "v.html"],
    );
    let page = fs::read_to_string(d.join("v.html")).unwrap();
    assert!(page.contains("a.xyz") && page.contains("oak") && page.ends_with("</html>\n"));
}

#[test]
fn info_says_what_was_decoded_and_check_decodes() {
    let dir = scans();
    let d = dir.path();
    let path = "scans/oak/p0/t0.laz";
    assert_eq!(json(d, &["info", path, "--json"])[0]["decoded"], false);
    assert!(done(d, &["info", path]).contains("--check"));
    let checked = &json(d, &["info", path, "--check", "--json"])[0];
    assert_eq!(
        (&checked["decoded"], &checked["points"]),
        (&true.into(), &200.into())
    );
    assert_eq!(json(d, &["info", "scans", "--json"])[0]["decoded"], false);
    assert_eq!(
        json(d, &["info", "scans", "--check", "--json"])[0]["points"],
        4_800
    );

    // Damaged behind its header: only --check can find that.
    let mut bytes = fs::read(d.join(path)).unwrap();
    let points = u32::from_le_bytes(bytes[96..100].try_into().unwrap()) as usize;
    bytes[points + 40..points + 60].fill(0xff);
    fs::write(d.join(path), bytes).unwrap();
    done(d, &["info", path]);
    assert!(fails(d, &["info", path, "--check"], 1).contains("t0.laz"));
    assert!(fails(d, &["info", "scans", "--check"], 1).contains("t0.laz"));
}

#[test]
fn points_that_are_not_finite_are_left_out_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    fs::write(d.join("a.xyz"), "1 2 3\nnan 0 0\n4 5 6\n").unwrap();
    let error = fails(d, &["convert", "a.xyz", "a.laz"], 1);
    assert!(
        error.contains("line 2") && error.contains("--drop-invalid"),
        "{error}"
    );
    let said = done(d, &["convert", "a.xyz", "a.laz", "--drop-invalid"]);
    assert!(said.contains("2 points, 1 left out"), "{said}");
    assert_eq!(formats::read(&d.join("a.laz")).unwrap().len(), 2);
}

#[test]
fn the_forest_is_grown_into_shards_and_files() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let few = ["--trees", "14", "--points", "64"];
    done(d, &[&["grow", "--out", "forest"], &few[..]].concat());
    done(
        d,
        &[&["grow", "--out", "files", "--format", "las"], &few[..]].concat(),
    );
    let info = &json(d, &["info", "forest", "--json"])[0];
    assert_eq!(info["points"]["least"], 64);
    let table = fs::read_to_string(d.join("files/labels.csv")).unwrap();
    assert_eq!(table.lines().count() as u64, info["scans"].as_u64().unwrap() + 1);
}

#[test]
fn what_cannot_be_done_says_so_and_leaves_nothing() {
    let dir = scans();
    let d = dir.path();
    assert!(fails(d, &["import", "folder", "nowhere"], 1).contains("no such file"));
    assert!(fails(d, &["import", "folder", "scans", "--species", "yew"], 1).contains("ash, oak"));
    fs::write(d.join("scans/oak/p0/broken.laz"), "LASF").unwrap();
    assert!(fails(d, &["import", "folder", "scans", "--out", "set"], 1).contains("broken.laz"));
    assert!(!d.join("set").exists());
    let left = json(
        d,
        &[
            "import",
            "folder",
            "scans",
            "--out",
            "set",
            "--skip-damaged",
            "--json",
        ],
    );
    assert_eq!(
        (left["trees"].as_u64(), left["damaged"].as_array().map(Vec::len)),
        (Some(24), Some(1))
    );
    assert!(fails(d, &["convert", "scans", "xyz", "--to", "xyz"], 1).contains("1 of 25 files"));
    assert!(fails(d, &["info", "scans/oak/p0/broken.laz"], 1).contains("broken.laz"));
    assert!(fails(d, &["split", "scans/oak/p0/t0.laz"], 1).contains("is one file"));
    fails(d, &["sample", "scans/oak/p0/t0.laz", "x.laz"], 2);
    fails(d, &["import", "lidar", "scans"], 2);
}

#[test]
fn nothing_is_fetched_before_the_licence_is_agreed_to() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    assert!(done(d, &["fetch"]).contains("for-species20k"));
    let entry = json(d, &["fetch", "idtrees", "--json"]);
    assert_eq!(entry["licence"], "CC-BY-4.0");
    assert!(fails(d, &["fetch", "idtrees"], 1).contains("--agree"));
    assert!(fails(d, &["fetch", "stpctls", "--agree"], 1).contains("by hand"));
    assert!(fails(d, &["fetch", "biodiv-3dtrees"], 1).contains("by hand"));
    assert!(fails(d, &["fetch", "trees"], 1).contains("known are idtrees"));
    assert_eq!(fs::read_dir(d).unwrap().count(), 0);
    fs::create_dir(d.join("biodiv-3dtrees")).unwrap();
    fs::write(d.join("biodiv-3dtrees/labels.csv"), "not it").unwrap();
    assert!(fails(d, &["fetch", "biodiv-3dtrees"], 1).contains("MD5"));
}
