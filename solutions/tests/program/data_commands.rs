//! `canopy data` as a user types it: what it prints, what it leaves, how it ends.

use std::process::Stdio;

use canopy::train::Config;
use canopy_data::formats;
use tempfile::TempDir;

use crate::*;

fn data(dir: &Path, words: &str) -> Command {
    let mut command = canopy(&format!("data {words}"));
    command.current_dir(dir).stdin(Stdio::null());
    command.env("CANOPY_CACHE", dir.join("cache"));
    command
}

/// Standard output of a command that must succeed.
fn done(dir: &Path, words: &str) -> String {
    stdout(&mut data(dir, words))
}

fn json_of(dir: &Path, words: &str) -> Value {
    json(&mut data(dir, words))
}

/// Checks that a command exits with `code`, and that its standard error contains `part`.
#[track_caller]
fn fails(dir: &Path, words: &str, code: i32, part: &str) {
    let out = data(dir, words).output().unwrap();
    let error = text(&out.stderr);
    assert_eq!(out.status.code(), Some(code), "{words}: {error}");
    assert!(!error.contains("panicked"), "{words}: {error}");
    assert_contains(&error, &[part]);
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
    let report = json_of(d, "import folder scans --out set --json");
    assert_eq!((&report["trees"], &report["points"]), (&24.into(), &4_800.into()));

    let info = &json_of(d, "info set --json")[0];
    assert_eq!(
        (&info["scans"], &info["plots"], &info["digest"]),
        (&24.into(), &4.into(), &report["digest"])
    );
    assert_contains(
        &done(d, "info set"),
        &["scans            24", "total 4,800", "  oak"],
    );
    assert_contains(
        &done(d, "info scans"),
        &["kind             folder", "plots            4"],
    );

    let split = json_of(d, "split set --json --out split.csv");
    assert_eq!(split["parts"]["validation"]["species"]["oak"], 3);
    assert_eq!(split["parts"]["train"]["plots"].as_array().unwrap().len(), 2);
    let rows = fs::read_to_string(d.join("split.csv")).unwrap();
    assert_eq!(rows.lines().count(), 25);
    assert!(done(d, "split scans --folds 4").contains("fold 3"));

    done(d, "convert set out --to ply");
    let again = json_of(d, "import csv out/labels.csv --out set2 --json");
    assert_eq!((&again["trees"], &again["points"]), (&24.into(), &4_800.into()));
    fails(d, "convert set out", 1, "out exists already");
}

#[test]
fn a_file_is_converted_and_shown() {
    let dir = scans();
    let d = dir.path();
    done(d, "convert scans/oak/p0/t0.laz a.xyz");
    assert_eq!(formats::read(&d.join("a.xyz")).unwrap().len(), 200);
    fails(d, "convert scans/oak/p0/t1.laz a.xyz", 1, "--force");
    done(d, "convert scans flat --to xyz");
    assert!(d.join("flat/ash/p3/t2.xyz").is_file());
    done(d, "view a.xyz scans --color species --out v.html");
    let page = fs::read_to_string(d.join("v.html")).unwrap();
    assert!(page.contains("a.xyz") && page.contains("oak") && page.trim_end().ends_with("</html>"));
}

#[test]
fn files_that_differ_in_their_ending_only_are_all_converted() {
    let dir = scans();
    let d = dir.path();
    done(d, "convert scans/oak/p0/t0.laz scans/oak/p0/t0.las");
    assert!(done(d, "convert scans out --to ply").contains("25 files"));
    for name in ["t0.las.ply", "t0.laz.ply", "t1.ply"] {
        assert!(d.join("out/oak/p0").join(name).is_file(), "{name}");
    }
}

#[test]
fn a_split_has_the_defaults_of_training() {
    let dir = scans();
    let Config {
        seed,
        validation,
        test,
        ..
    } = Config::default();
    let words = format!("split scans --json --seed {seed} --validation {validation} --test {test}");
    assert_eq!(
        json_of(dir.path(), "split scans --json"),
        json_of(dir.path(), &words)
    );
}

#[test]
fn a_wrong_header_is_a_warning() {
    let dir = scans();
    let d = dir.path();
    done(d, "convert scans/oak/p0/t0.laz a.las");
    let mut bytes = fs::read(d.join("a.las")).unwrap();
    bytes[247] = 10;
    fs::write(d.join("a.las"), bytes).unwrap();
    fs::create_dir_all(d.join("one/oak")).unwrap();
    fs::copy(d.join("a.las"), d.join("one/oak/a.las")).unwrap();
    for words in ["info a.las", "convert a.las b.laz", "import folder one --out set"] {
        let out = data(d, words).output().unwrap();
        assert!(out.status.success());
        let part = "a.las: the header says 10 points, but the file has space for 200";
        assert_contains(&text(&out.stderr), &[part]);
    }
}

#[test]
fn info_says_what_was_decoded_and_check_decodes() {
    let dir = scans();
    let d = dir.path();
    let path = "scans/oak/p0/t0.laz";
    let info = format!("info {path}");
    let checked = format!("info {path} --check");
    assert_eq!(json_of(d, &format!("{info} --json"))[0]["decoded"], false);
    assert!(done(d, &info).contains("--check"));
    let found = &json_of(d, &format!("{checked} --json"))[0];
    assert_eq!((&found["decoded"], &found["points"]), (&true.into(), &200.into()));
    assert_eq!(json_of(d, "info scans --json")[0]["decoded"], false);
    assert_eq!(json_of(d, "info scans --check --json")[0]["points"], 4_800);

    // Damaged behind its header: only --check can find that.
    let mut bytes = fs::read(d.join(path)).unwrap();
    let points = u32::from_le_bytes(bytes[96..100].try_into().unwrap()) as usize;
    bytes[points + 40..points + 60].fill(0xff);
    fs::write(d.join(path), bytes).unwrap();
    done(d, &info);
    fails(d, &checked, 1, "t0.laz");
    fails(d, "info scans --check", 1, "t0.laz");
}

#[test]
fn points_that_are_not_finite_are_left_out_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    fs::write(d.join("a.xyz"), "1 2 3\nnan 0 0\n4 5 6\n").unwrap();
    for part in ["line 2", "--drop-invalid"] {
        fails(d, "convert a.xyz a.laz", 1, part);
    }
    let said = done(d, "convert a.xyz a.laz --drop-invalid");
    assert!(said.contains("2 points, 1 left out"), "{said}");
    assert_eq!(formats::read(&d.join("a.laz")).unwrap().len(), 2);
}

#[test]
fn the_forest_is_grown_into_shards_and_files() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    done(d, "grow --trees 14 --points 64 --out forest");
    done(d, "grow --trees 14 --points 64 --out files --format las");
    let info = &json_of(d, "info forest --json")[0];
    assert_eq!(info["points"]["least"], 64);
    let table = fs::read_to_string(d.join("files/labels.csv")).unwrap();
    assert_eq!(table.lines().count() as u64, info["scans"].as_u64().unwrap() + 1);
}

#[test]
fn what_cannot_be_done_says_so_and_leaves_nothing() {
    let dir = scans();
    let d = dir.path();
    fs::write(d.join("scans/oak/p0/broken.laz"), "LASF").unwrap();
    for (words, code, part) in [
        ("import folder nowhere", 1, "no such file"),
        ("import folder scans --species yew", 1, "ash, oak"),
        ("import folder scans --out set", 1, "broken.laz"),
        ("convert scans xyz --to xyz", 1, "1 of 25 files"),
        ("info scans/oak/p0/broken.laz", 1, "broken.laz"),
        ("split scans/oak/p0/t0.laz", 1, "is one file"),
        ("import lidar scans", 2, ""),
    ] {
        fails(d, words, code, part);
    }
    assert!(!d.join("set").exists());
    let left = json_of(d, "import folder scans --out set --skip-damaged --json");
    assert_eq!(left["trees"], 24);
    assert_eq!(left["damaged"].as_array().unwrap().len(), 1);
}

#[test]
fn nothing_is_fetched_before_the_licence_is_agreed_to() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    assert!(done(d, "fetch").contains("for-species20k"));
    let entry = json_of(d, "fetch idtrees --json");
    assert_eq!(entry["licence"], "CC-BY-4.0");
    for (words, part) in [
        ("fetch idtrees", "--agree"),
        ("fetch stpctls --agree", "by hand"),
        ("fetch biodiv-3dtrees", "by hand"),
        ("fetch trees", "known are idtrees"),
    ] {
        fails(d, words, 1, part);
    }
    assert_eq!(fs::read_dir(d).unwrap().count(), 0);
    fs::create_dir(d.join("biodiv-3dtrees")).unwrap();
    fs::write(d.join("biodiv-3dtrees/labels.csv"), "not it").unwrap();
    fails(d, "fetch biodiv-3dtrees", 1, "MD5");
    // Without curl, the address.
    let out = data(d, "fetch idtrees --agree").env("PATH", "").output().unwrap();
    let address =
        "wget --continue --output-document='idtrees/IDTREES_competition_train_v2.zip' 'https://zenodo.org/";
    assert_contains(&text(&out.stderr), &["there is no `curl`", address]);
}
