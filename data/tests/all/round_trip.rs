//! What is written comes back, in every format, within its own steps.

use std::path::Path;

use canopy_data::{
    Cloud, Return,
    formats::{self, Format, Options},
};
use proptest::prelude::*;

use crate::{assert_contains, made::las_file};

/// Clouds of up to `n` points, near 0 or at map coordinates, with any attributes.
fn clouds(n: usize) -> impl Strategy<Value = Cloud> {
    let point = prop::array::uniform3(-500.0f32..500.0);
    let echo = (1u8..=15, 1u8..=15).prop_map(|(number, of)| Return { number, of });
    let row = (point, any::<u16>(), any::<u8>(), echo);
    let origin = prop_oneof![
        Just([0.0; 3]),
        Just([432_100.0, 5_403_200.0, 1_000.0]),
        Just([-70_000.0, 0.0, -2_000.0])
    ];
    (prop::collection::vec(row, 1..n), origin, any::<[bool; 3]>()).prop_map(|(rows, origin, has)| Cloud {
        origin,
        xyz: rows.iter().map(|r| r.0).collect(),
        intensity: rows.iter().map(|r| r.1).filter(|_| has[0]).collect(),
        class: rows.iter().map(|r| r.2).filter(|_| has[1]).collect(),
        returns: rows.iter().map(|r| r.3).filter(|_| has[2]).collect(),
    })
}

/// Coordinates as the file holds them.
fn absolute(c: &Cloud) -> Vec<[f64; 3]> {
    c.xyz
        .iter()
        .map(|p| [0, 1, 2].map(|a| c.origin[a] + f64::from(p[a])))
        .collect()
}

/// How far a coordinate may have moved: half a step, and two roundings to f32.
fn tolerance(format: Format, c: f64) -> f64 {
    let rounding = 2.0 * f64::from(f32::EPSILON) * 2_000.0;
    match format {
        Format::Las | Format::Laz => 0.000_500_1 + rounding,
        _ if c.abs() < 500.0 => 0.0,
        _ => rounding,
    }
}

fn there_and_back(cloud: &Cloud, path: &Path) -> Result<(), TestCaseError> {
    formats::write(path, cloud, &Options::default()).unwrap();
    let back = formats::read(path).unwrap();
    prop_assert_eq!(back.len(), cloud.len());
    let format = Format::from_path(path).unwrap();
    for (i, (p, q)) in absolute(cloud).iter().zip(absolute(&back)).enumerate() {
        for a in 0..3 {
            let off = (p[a] - q[a]).abs();
            prop_assert!(off <= tolerance(format, p[a]), "{format:?} {i} moved by {off}");
        }
    }
    let mut expected = cloud.clone();
    if matches!(format, Format::Las | Format::Laz) {
        // LAS cannot say that an attribute is absent.
        let n = cloud.len();
        expected.intensity.resize(n, 0);
        expected.class.resize(n, 0);
        expected.returns.resize(n, Return { number: 1, of: 1 });
    }
    prop_assert_eq!(&back.intensity, &expected.intensity);
    prop_assert_eq!(&back.class, &expected.class);
    prop_assert_eq!(&back.returns, &expected.returns);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_format_gives_back_what_it_was_given(cloud in clouds(300)) {
        let home = tempfile::tempdir().unwrap();
        for name in ["a.las", "a.laz", "a.xyz", "a.csv"] {
            there_and_back(&cloud, &home.path().join(name))?;
        }
    }
}

fn convert(from: &Path, to: &Path, options: &Options) {
    let loaded = formats::load(from).unwrap();
    let grid = loaded.grid;
    formats::write(to, &loaded.cloud, &Options { grid, ..*options }).unwrap();
}

#[test]
fn laz_to_laz_keeps_scale_offset_and_coordinates() {
    let home = tempfile::tempdir().unwrap();
    let (from, to) = (home.path().join("a.laz"), home.path().join("b.laz"));
    let (bytes, points) = las_file(6, (1, 4), true, 500);
    std::fs::write(&from, bytes).unwrap();
    convert(&from, &to, &Options::default());
    let grid = |path: &Path| formats::load(path).unwrap().grid.unwrap();
    assert_eq!(grid(&to), grid(&from));
    let written = las::Reader::from_path(&to).unwrap().read_all().unwrap();
    for ((x, z), p) in written.x().zip(written.z()).zip(points) {
        assert!((x - p.x).abs() < 1e-6 && (z - p.z).abs() < 1e-6, "{x} {z} {p:?}");
    }
    // A resolution that was asked for is used.
    let options = Options {
        resolution: Some(0.1),
        ..Options::default()
    };
    convert(&from, &to, &options);
    assert_eq!(grid(&to).scale, [0.1; 3]);
}

#[test]
fn a_file_is_described() {
    let home = tempfile::tempdir().unwrap();
    // More points than one LAZ chunk has.
    let n = 60_000;
    let cloud = Cloud {
        origin: [500_000.0, 5_400_000.0, 0.0],
        class: vec![5; n],
        ..Cloud::from_points(
            (0..n)
                .map(|i| [(i % 977) as f32, 0.5, i as f32 * 0.001])
                .collect(),
        )
    };
    for name in ["a.laz", "a.csv"] {
        let path = home.path().join(name);
        formats::write(&path, &cloud, &Options::default()).unwrap();
        let info = formats::info(&path, false).unwrap();
        assert_eq!(
            (info.format, info.count),
            (Format::from_path(&path).unwrap(), 60_000)
        );
        let [low, high] = info.bounds.unwrap();
        let right = (low[0] - 500_000.0).abs() < 1e-3 && (high[2] - 59.999).abs() < 1e-3;
        assert!(right && info.attributes.contains(&"class"), "{name} {info:?}");
        assert_eq!(formats::read(&path).unwrap().len(), n);
    }
}

#[test]
fn a_file_appears_whole_or_not_at_all() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.laz");
    let cloud = Cloud::from_points(vec![[1.0, 2.0, 3.0]]);
    formats::write(&path, &cloud, &Options::default()).unwrap();
    let far = Cloud::from_points(vec![[0.0; 3], [3e9, 0.0, 0.0]]);
    for (name, cloud, expected) in [
        ("a.laz", &far, "point 1"),
        ("a.laz", &far, "resolution"),
        ("nowhere/a.laz", &cloud, "folder"),
        ("a.docx", &cloud, "laz"),
    ] {
        let written = formats::write(&home.path().join(name), cloud, &Options::default());
        assert_contains(&format!("{:#}", written.unwrap_err()), &[name, expected]);
    }
    // The older file is unchanged, and there is no other.
    assert_eq!(formats::read(&path).unwrap().xyz, cloud.xyz);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
    // Files of no points and of one.
    for name in ["a.las", "a.laz"] {
        for cloud in [&Cloud::default(), &cloud] {
            let path = home.path().join(name);
            formats::write(&path, cloud, &Options::default()).unwrap();
            assert_eq!(formats::info(&path, false).unwrap().count, cloud.len() as u64);
            assert_eq!(formats::read(&path).unwrap().xyz, cloud.xyz, "{name}");
        }
    }
}
