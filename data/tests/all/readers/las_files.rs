//! LAS and LAZ files.

use super::*;

/// A LAS file by the `las` crate, with what it holds.
fn las_file(format: u8, version: (u8, u8), packed: bool) -> (Vec<u8>, Vec<las::Point>) {
    let mut builder = las::Builder::from(version);
    builder.point_format = las::point::Format::new(format).unwrap();
    builder.point_format.is_compressed = packed;
    let t = las::Transform {
        scale: 0.01,
        offset: 400_000.0,
    };
    builder.transforms = las::Vector {
        x: t,
        y: t,
        z: las::Transform {
            scale: 0.001,
            offset: 0.0,
        },
    };
    let mut writer = las::Writer::new(Cursor::new(Vec::new()), builder.into_header().unwrap()).unwrap();
    let f = *writer.header().point_format();
    let points: Vec<las::Point> = (0..1_000u16)
        .map(|i| las::Point {
            x: 432_100.0 + f64::from(i % 37) * 0.25,
            y: 403_200.5 + f64::from(i % 41) * 0.75,
            z: f64::from(i) * 0.125 - 20.0,
            intensity: i * 60,
            return_number: 1 + (i % 3) as u8,
            number_of_returns: 3,
            classification: las::point::Classification::new([2, 5, 7][usize::from(i % 3)]).unwrap(),
            is_withheld: i % 5 == 0,
            is_synthetic: i % 7 == 0,
            scan_direction: las::point::ScanDirection::LeftToRight,
            is_edge_of_flight_line: i % 2 == 0,
            color: f.has_color.then(|| las::Color::new(i, 3, 4)),
            gps_time: f.has_gps_time.then(|| f64::from(i) * 0.1),
            nir: f.has_nir.then_some(i),
            ..las::Point::default()
        })
        .collect();
    points.iter().for_each(|p| writer.write_point(p.clone()).unwrap());
    (writer.into_inner().unwrap().into_inner(), points)
}

#[test]
fn every_version_and_point_format_of_las_and_laz_is_read() {
    let versions = |format: u8| match format {
        0 | 1 => vec![(1, 0), (1, 1), (1, 2), (1, 3), (1, 4)],
        2 | 3 => vec![(1, 2), (1, 3), (1, 4)],
        _ => vec![(1, 4)],
    };
    for format in [0, 1, 2, 3, 6, 7, 8] {
        for version in versions(format) {
            for packed in [false, true] {
                let (bytes, points) = las_file(format, version, packed);
                let c =
                    read("a.las", &bytes).unwrap_or_else(|e| panic!("{format} {version:?} {packed}: {e:#}"));
                assert_eq!(c.len(), points.len());
                for (i, p) in points.iter().enumerate() {
                    let at = [0, 1, 2].map(|a| c.origin[a] + f64::from(c.xyz[i][a]));
                    for (q, p) in at.iter().zip([p.x, p.y, p.z]) {
                        assert!((q - p).abs() < 1e-5, "format {format} {version:?}: {q} {p}");
                    }
                    assert_eq!(c.intensity[i], p.intensity);
                    assert_eq!(c.class[i], u8::from(p.classification), "format {format}");
                    assert_eq!(
                        (c.returns[i].number, c.returns[i].of),
                        (p.return_number, p.number_of_returns)
                    );
                }
            }
        }
    }
}

#[test]
fn a_laz_file_without_a_chunk_table_is_read_in_order() {
    for format in [1, 6] {
        let (mut bytes, points) = las_file(format, (1, 4), true);
        let start = u32::from_le_bytes(bytes[96..100].try_into().unwrap()) as usize;
        let table = i64::from_le_bytes(bytes[start..start + 8].try_into().unwrap()) as usize;
        // As a writer leaves it that was ended before it could go back.
        bytes[start..start + 8].copy_from_slice(&(-1i64).to_le_bytes());
        bytes.truncate(table);
        bytes.extend([0; 8]);
        let c = read("a.laz", &bytes).unwrap_or_else(|e| panic!("{format}: {e:#}"));
        assert_eq!(c.len(), points.len());
        assert!((c.origin[2] + f64::from(c.xyz[999][2]) - points[999].z).abs() < 1e-5);
    }
}

/// The tables of chunks begin behind the 8 bytes that say where they are. `laz` allocates 32 GB for what is there else.
#[test]
fn a_chunk_table_within_the_first_bytes_of_the_points_is_refused() {
    for format in [1, 6] {
        let (bytes, _) = las_file(format, (1, 4), true);
        let start = u32::from_le_bytes(bytes[96..100].try_into().unwrap()) as usize;
        for behind in 1..8 {
            let mut bad = bytes.clone();
            bad[start..start + 8].copy_from_slice(&((start + behind) as u64).to_le_bytes());
            bad[start + 8..start + 16].fill(0xff);
            let e = message("bad.laz", &bad);
            assert_contains(&e, &["bad.laz", "expected a chunk table"]);
        }
    }
}

/// The same records as LAS and as LAZ. `wild`: every bit is random, so that decoders meet every length of difference.
#[test]
fn laz_decodes_to_the_records_that_were_compressed() {
    let mut random = Philox::new(3, 7);
    for (format, extra) in [(0, 0), (1, 3), (2, 0), (3, 1), (6, 0), (6, 3), (7, 0), (8, 5)] {
        for (n, wild) in [
            (1, true),
            (1023, false),
            (1025, true),
            (120_000, false),
            (9_000, true),
        ] {
            let mut f = las::point::Format::new(format).unwrap();
            f.extra_bytes = extra;
            let len = usize::from(f.len());
            let mut records = vec![0; n * len];
            let mut at = [0i32; 3];
            for record in records.chunks_exact_mut(len) {
                if wild {
                    record.fill_with(|| random.below(256) as u8);
                    continue;
                }
                for a in 0..3 {
                    let reach = [3, 40, 700, 60_000][random.below(4)];
                    at[a] += random.below(2 * reach + 1) as i32 - reach as i32;
                    record[4 * a..][..4].copy_from_slice(&at[a].to_le_bytes());
                }
                record[12] = random.below(90) as u8;
                record[14] = 0x11 + random.below(3) as u8;
                record[16] = [2, 5, 5, 6, 40][random.below(5)];
            }
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
            assert!(
                clouds[0] == clouds[1],
                "format {format}, {extra} extra bytes, {n} points, wild: {wild}"
            );
        }
    }
}

#[test]
fn damaged_laz_ends_in_an_error_or_in_as_many_points() {
    let mut random = Philox::new(11, 0);
    for format in [3, 6] {
        let (bytes, points) = las_file(format, (1, 4), true);
        let start = u32::from_le_bytes(bytes[96..100].try_into().unwrap()) as usize + 8;
        for _ in 0..300 {
            let mut bad = bytes.clone();
            for _ in 0..1 + random.below(4) {
                bad[start + random.below(bytes.len() - start)] = random.below(256) as u8;
            }
            if let Ok(cloud) = read("bad.laz", &bad) {
                assert_eq!(cloud.len(), points.len());
            }
        }
    }
}

#[test]
fn errors_in_las_name_the_place() {
    let (las, _) = las_file(1, (1, 2), false);
    let (laz, _) = las_file(7, (1, 4), true);
    let change = |bytes: &[u8], at: usize, with: &[u8]| {
        let mut b = bytes.to_vec();
        b[at..at + with.len()].copy_from_slice(with);
        b
    };
    let start = u32::from_le_bytes(laz[96..100].try_into().unwrap()) as usize;
    let table = i64::from_le_bytes(laz[start..start + 8].try_into().unwrap()) as usize;
    for (bytes, expected) in [
        (las[..150].to_vec(), "header cannot be read"),
        (las[..5_000].to_vec(), "the header says 1000 points of 28 bytes"),
        (change(&las, 107, &u32::MAX.to_le_bytes()), "4294967295 points"),
        (change(&las, 24, &[2]), "expected LAS 1.0 to 1.4, found 2."),
        (change(&las, 96, &u32::MAX.to_le_bytes()), "found byte 4294967295"),
        (
            change(&las, 104, &[11]),
            "expected a point format from 0 to 10, found 11",
        ),
        (change(&las, 105, &[3, 0]), "expected records of at least"),
        (
            change(&las, 131, &f64::NAN.to_le_bytes()),
            "expected scale factors",
        ),
        (
            change(&las, 155, &f64::INFINITY.to_le_bytes()),
            "expected scale factors",
        ),
        (
            change(&change(&laz, 107, &[0; 4]), 247, &(1u64 << 40).to_le_bytes()),
            "the chunk table has",
        ),
        (
            change(&laz, start, &(1i64 << 40).to_le_bytes()),
            "found byte 1099511627776",
        ),
        (
            change(&laz, table + 4, &u32::MAX.to_le_bytes()),
            "found 4294967295",
        ),
        (laz[..table].to_vec(), "expected a chunk table"),
        (change(&laz, 100, &[0, 0]), "laszip encoded"),
    ] {
        assert!(read("wrong.laz", &bytes).is_err(), "{expected}");
        let e = message("wrong.laz", &bytes);
        assert_contains(&e, &["wrong.laz", expected]);
    }
}
