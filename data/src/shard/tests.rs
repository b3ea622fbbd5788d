use std::{fs, path::Path};

use anyhow::Result;
use safetensors::SafeTensors;

use super::{Meta, Writer, digest, open};
use crate::{Cloud, Return, Scan, TreeRecord};

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
    let points = (0..n).map(|k| [k as f32, -0.5 * k as f32, i as f32]);
    let mut c = Cloud::from_points(points.collect());
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

/// Writes a set and returns its digest.
fn write(dir: &Path, scans: impl IntoIterator<Item = (TreeRecord, Cloud)>) -> Result<String> {
    let meta = Meta {
        name: "test".into(),
        species: vec!["beech".into(), "oak".into()],
        ..Meta::default()
    };
    let mut w = Writer::create(dir, meta)?;
    for (record, cloud) in scans {
        w.push(&record, &cloud)?;
    }
    w.finish()
}

fn scans(n: usize) -> impl Iterator<Item = (TreeRecord, Cloud)> {
    (0..n).map(|i| (record(i), cloud(i)))
}

#[test]
fn concurrent_writers_of_one_set_all_succeed_and_it_is_read_back_as_written() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("set");
    let digests: Vec<String> = std::thread::scope(|s| {
        let threads = [(); 4].map(|()| s.spawn(|| write(&dir, scans(7)).unwrap()));
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let set = open(&dir).unwrap();
    assert_eq!(digest(&set).unwrap(), set.digest);
    assert!(digests.iter().all(|d| *d == set.digest));
    assert_eq!((set.species[1].as_str(), set.len()), ("oak", 7));
    for i in 0..7 {
        assert_eq!((&set.records[i], set.cloud(i).unwrap()), (&record(i), cloud(i)));
    }
    // As any other program reads it.
    let bytes = fs::read(dir.join("shard-0000.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let values =
        |name: &str, begin: usize, end: usize| tensors.tensor(name).unwrap().data()[begin..end].to_vec();
    assert_eq!(
        values("cloud_start", 8, 24),
        bytemuck::cast_slice::<_, u8>(&[3i64, 11])
    );
    assert_eq!(
        values("xyz", 36, 132),
        bytemuck::cast_slice::<_, u8>(&cloud(1).xyz)
    );
    assert_eq!(
        values("intensity", 6, 22),
        bytemuck::cast_slice::<_, u8>(&cloud(1).intensity)
    );
    assert_eq!(values("returns", 6, 22), [1, 2].repeat(8));
    assert_eq!(
        values("cloud_origin", 24, 48),
        bytemuck::cast_slice::<_, u8>(&cloud(1).origin)
    );
    assert!(set.cloud(7).unwrap_err().to_string().contains("no record 7"));
    // Another set replaces it, and nothing but the set is left.
    assert_ne!(write(&dir, scans(5)).unwrap(), set.digest);
    assert_eq!(open(&dir).unwrap().len(), 5);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn the_digest_depends_on_labels_and_points_but_not_on_sources() {
    let home = tempfile::tempdir().unwrap();
    let digest_of = |change: &dyn Fn(&mut TreeRecord, &mut Cloud)| {
        let (mut record, mut cloud) = (record(0), cloud(0));
        change(&mut record, &mut cloud);
        write(&home.path().join("set"), [(record, cloud)]).unwrap()
    };
    let plain = digest_of(&|_, _| ());
    assert_eq!(digest_of(&|r, _| r.source = "elsewhere.las".into()), plain);
    assert_ne!(digest_of(&|r, _| r.species = 1), plain);
    assert_ne!(digest_of(&|_, c| c.xyz[1][2] += 1e-3), plain);
}

#[test]
fn unusable_folders_records_and_clouds_are_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let thesis = home.path().join("thesis.txt");
    fs::write(&thesis, "years of work").unwrap();
    let dir = home.path().join("set");
    let wrong = TreeRecord {
        species: 2,
        ..record(4)
    };
    let mut nan = cloud(0);
    nan.xyz[2][1] = f32::NAN;
    for (dir, scan, expected) in [
        (home.path(), Some((record(1), cloud(1))), "not a canopy data set"),
        (
            &dir,
            Some((wrong, cloud(0))),
            "tree t4 from t4.laz: species 2 of 2",
        ),
        (&dir, Some((record(1), Cloud::default())), "no point"),
        (&dir, Some((record(1), nan)), "point 2"),
        (&dir, None, "no tree"),
    ] {
        let error = format!("{:#}", write(dir, scan).unwrap_err());
        assert!(error.contains(expected), "{error}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}

#[test]
fn every_damaged_byte_every_truncation_and_a_damaged_manifest_is_detected() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("set");
    assert!(format!("{:#}", open(&dir).unwrap_err()).contains("dataset.json"));
    write(&dir, scans(4)).unwrap();
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
        fs::write(&path, &whole[..at]).unwrap();
        assert!(all().is_err(), "cut to {at} bytes");
    }
    fs::write(&path, &whole).unwrap();
    let path = dir.join("dataset.json");
    let text = fs::read_to_string(&path).unwrap();
    for (from, to, expected) in [
        ("\"species\": 1", "\"species\": 9", "species 9 of 2"),
        ("\"clouds\": 4", "\"clouds\": 3", "4 records"),
        ("canopy-dataset-2", "canopy-dataset-7", "canopy-dataset-7"),
        ("shard-0000.safetensors", "../../etc/passwd", "not a file name"),
        ("\"records\"", "", "not a manifest"),
    ] {
        assert!(text.contains(from));
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let e = format!("{:#}", open(&dir).unwrap_err());
        assert!(e.contains(expected) && e.contains("dataset.json"), "{e}");
    }
}

#[test]
fn a_cloud_has_an_extent_if_two_of_its_points_differ() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("set");
    let clouds: [(&[[f32; 3]], bool); 4] = [
        (&[[1.0; 3]; 9], false),
        (&[[1.0; 3], [1.0; 3], [1.0, 1.0, 1.5]], true),
        (&[[2.0; 3]], false),
        // The two zeros are equal, although their bits are not.
        (&[[0.0; 3], [-0.0; 3]], false),
    ];
    let scan =
        |(i, (points, _)): (usize, &(&[[f32; 3]], bool))| (record(i), Cloud::from_points(points.to_vec()));
    write(&dir, clouds.iter().enumerate().map(scan)).unwrap();
    let set = open(&dir).unwrap();
    assert_eq!(set.degenerate().unwrap(), [0, 2, 3]);
    for (i, (points, extent)) in clouds.iter().enumerate() {
        assert_eq!(set.cloud(i).unwrap().has_extent(), *extent, "{points:?}");
    }
}
