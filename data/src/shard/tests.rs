use std::fs;

use anyhow::Result;

use super::{Meta, Writer, digest, open};
use crate::{Cloud, Return, Scan, TreeRecord};

fn meta() -> Meta {
    Meta {
        name: "test".into(),
        species: vec!["beech".into(), "oak".into()],
        licence: "CC0-1.0".into(),
        source: "made for this test".into(),
    }
}

fn record(i: usize) -> TreeRecord {
    TreeRecord {
        tree: format!("t{i}"),
        species: i % 2,
        plot: format!("p{}", i / 2),
        scan: Scan::Tls,
        source: format!("t{i}.laz"),
        inventory: None,
    }
}

/// Clouds of differing sizes, each with other attributes.
fn cloud(i: usize) -> Cloud {
    let n = 3 + 5 * i;
    let mut c = Cloud::from_points((0..n).map(|k| [k as f32, -0.5 * k as f32, i as f32]).collect());
    c.origin = [500_000.0, 5_000_000.0, i as f64];
    if i % 2 == 1 {
        c.intensity = (0..n as u16).collect();
        c.returns = vec![Return { number: 1, of: 2 }; n];
    }
    if i % 3 == 1 {
        c.class = vec![5; n];
    }
    c
}

fn write(dir: &std::path::Path, n: usize) -> Result<String> {
    let mut w = Writer::create(dir, meta())?;
    for i in 0..n {
        w.push(&record(i), &cloud(i))?;
    }
    Ok(w.finish()?.into_string())
}

#[test]
fn a_set_is_read_back_as_written() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("set");
    let said = write(&dir, 7).unwrap();
    let set = open(&dir).unwrap();
    assert_eq!(set.species, meta().species);
    assert_eq!(set.digest, said);
    assert_eq!(digest(&set).unwrap().as_str(), said);
    for i in 0..7 {
        assert_eq!(set.records[i], record(i));
        assert_eq!(set.cloud(i).unwrap(), cloud(i), "cloud {i}");
    }
    assert!(set.cloud(7).unwrap_err().to_string().contains("no record 7"));
    // Nothing but the set is left behind.
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn the_digest_depends_on_labels_and_points_but_not_on_sources() {
    let home = tempfile::tempdir().unwrap();
    let digest_of = |r: TreeRecord, c: Cloud| {
        let dir = home.path().join("set");
        let mut w = Writer::create(&dir, meta()).unwrap();
        w.push(&r, &c).unwrap();
        w.finish().unwrap()
    };
    let plain = digest_of(record(0), cloud(0));
    let moved = TreeRecord {
        source: "elsewhere.las".into(),
        ..record(0)
    };
    assert_eq!(digest_of(moved, cloud(0)), plain);
    assert_ne!(
        digest_of(
            TreeRecord {
                species: 1,
                ..record(0)
            },
            cloud(0)
        ),
        plain
    );
    let mut other = cloud(0);
    other.xyz[1][2] += 1e-3;
    assert_ne!(digest_of(record(0), other), plain);
}

#[test]
fn concurrent_writers_of_one_set_all_succeed() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("set");
    let digests: Vec<String> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..4).map(|_| s.spawn(|| write(&dir, 5).unwrap())).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(digests.windows(2).all(|d| d[0] == d[1]));
    assert_eq!(open(&dir).unwrap().digest, digests[0]);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_with_other_files_is_unchanged() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("thesis.txt"), "years of work").unwrap();
    let e = Writer::create(home.path(), meta()).unwrap_err().to_string();
    assert!(e.contains("not a canopy data set"), "{e}");
    assert!(home.path().join("thesis.txt").exists());
}

#[test]
fn unusable_records_and_clouds_are_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let mut w = Writer::create(&home.path().join("set"), meta()).unwrap();
    let error = |e: anyhow::Error| format!("{e:#}");
    let wrong = TreeRecord {
        species: 2,
        ..record(4)
    };
    assert!(error(w.push(&wrong, &cloud(0)).unwrap_err()).contains("tree t4 from t4.laz: species 2 of 2"));
    assert!(error(w.push(&record(1), &Cloud::default()).unwrap_err()).contains("no point"));
    let mut nan = cloud(0);
    nan.xyz[2][1] = f32::NAN;
    assert!(error(w.push(&record(1), &nan).unwrap_err()).contains("point 2"));
    assert!(error(w.finish().unwrap_err()).contains("no tree"));
    assert!(!home.path().join("set").exists());
}

#[test]
fn every_damaged_byte_and_every_truncation_is_detected() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("set");
    write(&dir, 4).unwrap();
    let path = dir.join("shard-0000.safetensors");
    let whole = fs::read(&path).unwrap();
    let all = || (0..4).try_for_each(|i| open(&dir)?.cloud(i).map(drop));
    for at in 0..whole.len() {
        let mut bad = whole.clone();
        bad[at] ^= 0x10;
        fs::write(&path, &bad).unwrap();
        match all() {
            Err(e) => assert!(format!("{e:#}").contains("shard-0000.safetensors"), "{e:#}"),
            // A change that is not noticed must not change a cloud.
            Ok(()) => (0..4).for_each(|i| assert_eq!(open(&dir).unwrap().cloud(i).unwrap(), cloud(i))),
        }
    }
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        assert!(all().is_err(), "cut to {len} bytes");
    }
}

#[test]
fn a_damaged_manifest_is_distinguished_from_a_missing_one() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("set");
    assert!(format!("{:#}", open(&dir).unwrap_err()).contains("dataset.json"));
    write(&dir, 4).unwrap();
    let path = dir.join("dataset.json");
    let text = fs::read_to_string(&path).unwrap();
    for (from, to, expected) in [
        ("\"species\": 1", "\"species\": 9", "species 9 of 2"),
        ("\"clouds\": 4", "\"clouds\": 3", "4 records"),
        ("canopy-dataset-2", "canopy-dataset-7", "canopy-dataset-7"),
        ("shard-0000.safetensors", "../../etc/passwd", "not a file name"),
    ] {
        assert!(text.contains(from));
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let e = format!("{:#}", open(&dir).unwrap_err());
        assert!(e.contains(expected) && e.contains("dataset.json"), "{e}");
    }
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    assert!(format!("{:#}", open(&dir).unwrap_err()).contains("dataset.json"));
}
