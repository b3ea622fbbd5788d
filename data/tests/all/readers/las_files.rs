//! LAS and LAZ files.

use std::io::Cursor;

use canopy_data::Philox;

use super::*;
use crate::made::las_file;

#[test]
fn every_version_and_point_format_of_las_and_laz_is_read() {
    for (format, least) in [(0, 0), (1, 0), (2, 2), (3, 2), (6, 4), (7, 4), (8, 4)] {
        for (version, packed) in (least..=4).flat_map(|minor| [((1, minor), false), ((1, minor), true)]) {
            let (bytes, points) = las_file(format, version, packed, 1_000);
            let c = read("a.las", &bytes).unwrap_or_else(|e| panic!("{format} {version:?} {packed}: {e:#}"));
            assert_eq!(c.len(), points.len());
            for (i, p) in points.iter().enumerate() {
                let at = [0, 1, 2].map(|a| c.origin[a] + f64::from(c.xyz[i][a]));
                let near = at.iter().zip([p.x, p.y, p.z]).all(|(q, p)| (q - p).abs() < 1e-5);
                assert!(near, "format {format} {version:?}: {at:?} {p:?}");
                let found = (c.intensity[i], c.class[i], c.returns[i].number, c.returns[i].of);
                let class = u8::from(p.classification);
                assert_eq!(found, (p.intensity, class, p.return_number, p.number_of_returns));
            }
        }
    }
}

/// The same records as LAS and as LAZ. Every bit is random, so that the decoder meets every length of difference.
#[test]
fn laz_decodes_to_the_records_that_were_compressed() {
    let mut random = Philox::new(3, 7);
    for (format, extra) in [(0, 0), (1, 3), (2, 0), (3, 1), (6, 0), (6, 3), (7, 0), (8, 5)] {
        for n in [1, 1_025, 120_000] {
            let mut f = las::point::Format::new(format).unwrap();
            f.extra_bytes = extra;
            let mut records = vec![0; n * usize::from(f.len())];
            records.fill_with(|| random.below(256) as u8);
            let clouds = [false, true].map(|packed| {
                let mut builder = las::Builder::from((1, 4));
                builder.point_format = f;
                builder.point_format.is_compressed = packed;
                let header = builder.into_header().unwrap();
                let points = las::PointDataBuilder::new().for_header(&header);
                let points = points.build_from_bytes(records.clone()).unwrap();
                let mut writer = las::Writer::new(Cursor::new(Vec::new()), header).unwrap();
                writer.write_points(&points).unwrap();
                read("a.laz", &writer.into_inner().unwrap().into_inner()).unwrap()
            });
            assert_eq!(clouds[0].len(), n);
            let same = clouds[0] == clouds[1];
            assert!(same, "format {format}, {extra} extra bytes, {n} points");
        }
    }
}

#[test]
fn a_header_that_the_points_contradict_is_a_warning() {
    let home = tempfile::tempdir().unwrap();
    let warnings = |bytes: &[u8]| {
        let path = home.path().join("a.las");
        std::fs::write(&path, bytes).unwrap();
        let info = formats::info(&path, true).unwrap();
        (info.count, info.warnings.join("; "))
    };
    let count = |n: u32| n.to_le_bytes();
    for (format, packed) in [(1, false), (1, true), (7, false), (7, true)] {
        // The old field of the count has precedence.
        let (bytes, _) = las_file(format, (1, 4), packed, 600);
        assert_eq!(warnings(&bytes), (600, String::new()));
        let (read, text) = warnings(&changed(&bytes, &[(107, &count(0)), (247, &[0; 8])]));
        assert_eq!(read, 0);
        assert_contains(&text, &["the header says 0 points"]);
        // Chunks of formats 0 to 5 do not say how many points they have.
        if (format, packed) != (1, true) {
            let (read, text) = warnings(&changed(&bytes, &[(107, &count(10)), (247, &count(10))]));
            assert_eq!(read, 10);
            assert_contains(&text, &["the header says", "not read"]);
        }
        // The greatest x.
        let (_, text) = warnings(&changed(&bytes, &[(179, &432_100.5f64.to_le_bytes())]));
        let part = "x is from 432100.000 to 432100.500, but it is from 432100.000 to 432109.000";
        assert_contains(&text, &["the header says that", part]);
    }
}
