//! What the readers make of files as other programs write them, and what they say of files that are wrong.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::{io::Cursor, path::Path};

use canopy_data::{
    Cloud, Philox,
    formats::{self, Invalid, ReadOptions},
};

fn read(name: &str, bytes: &[u8]) -> anyhow::Result<Cloud> {
    let home = tempfile::tempdir()?;
    let path = home.path().join(name);
    std::fs::write(&path, bytes)?;
    formats::read(&path)
}

fn told(name: &str, bytes: &[u8]) -> String {
    format!("{:#}", read(name, bytes).map(|c| c.len()).unwrap_err())
}

const THREE: [[f32; 3]; 3] = [[1.5, 2.0, -3.25], [4.0, 5.5, 6.0], [7.0, 8.0, 9.125]];

#[test]
fn text_of_every_kind_gives_the_same_points() {
    for (name, text) in [
        ("spaces.xyz", "1.5 2 -3.25\n4 5.5 6\n7 8 9.125\n"),
        ("runs.xyz", "  1.5   2 \t-3.25\n\t4 5.5  6 \n\n7 8 9.125"),
        ("tabs.txt", "1.5\t2\t-3.25\n4\t5.5\t6\n7\t8\t9.125\n"),
        ("commas.csv", "1.5,2,-3.25\n4,5.5,6\n7,8,9.125\n"),
        ("commas and blanks.csv", "1.5, 2, -3.25\n4 , 5.5 , 6\n7,8,9.125\n"),
        ("many commas.csv", "1.5,,2,,-3.25\n4,,5.5,,6\n7,,8,,9.125\n"),
        ("semicolons.csv", "1.5;2;-3.25\n4;5.5;6\n7;8;9.125\n"),
        ("decimal commas.csv", "1,5;2,0;-3,25\n4;5,5;6\n7;8;9,125\n"),
        (
            "decimal commas.txt",
            "1,5 2,0 -3,25\n4,0 5,5 6,0\n7,0 8,0 9,125\n",
        ),
        (
            "count.pts",
            "3\r\n1.5 2 -3.25 -1200 10 20 30\r\n4 5.5 6 0 1 2 3\r\n7 8 9.125 1 1 2 3\r\n",
        ),
        ("two scans.pts", "1\n1.5 2 -3.25\n2\n4 5.5 6\n7 8 9.125\n"),
        (
            "header.txt",
            "X Y Z Intensity\n1.5 2 -3.25 1\n4 5.5 6 1\n7 8 9.125 1\n",
        ),
        (
            "other order.csv",
            "\"tree\",\"z\",\"x\",\"y\"\n\"b 1\",-3.25,1.5,2\n\"b 2\",6,4,5.5\n\"b 3\",9.125,7,8\n",
        ),
        (
            "comments.asc",
            "# made by hand\n// X, Y, Z\n1.5 2 -3.25 # low\n# between\n4 5.5 6\n7 8 9.125 // high\n",
        ),
        (
            "bom.csv",
            "\u{feff}x,y,z\r\n1.5,2,-3.25\r\n4,5.5,6\r\n7,8,9.125\r\n",
        ),
        ("exponents.xyz", "1.5e0 2E0 -0.325e1\n4 +5.5 6\n7 8 9125e-3\n"),
        ("no extension", "1.5 2 -3.25\n4 5.5 6\n7 8 9.125\n"),
        ("wrong extension.las", "1.5 2 -3.25\n4 5.5 6\n7 8 9.125\n"),
    ] {
        let cloud = read(name, text.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e:#}"));
        assert_eq!(cloud.xyz, THREE, "{name}");
        assert_eq!(cloud.origin, [0.0; 3], "{name}");
    }
    // Latin-1 in a comment is no reason to refuse a file.
    let latin = b"# B\xe4ume von Th\xfcringen\n1.5 2 -3.25\n4 5.5 6\n7 8 9.125\n";
    assert_eq!(read("Buche 3 \u{e4}.xyz", latin).unwrap().xyz, THREE);
}

#[test]
fn named_columns_are_honoured_and_others_passed_over() {
    let c = read(
        "a.csv",
        b"R,G,x,y,z,Classification,reflectance,ReturnNumber,NumberOfReturns\n9,9,1,2,3,5,12.4,1,2\n9,9,4,5,6,2,70000,2,2\n",
    )
    .unwrap();
    assert_eq!((c.class, c.intensity), (vec![5, 2], vec![12, 65_535]));
    assert_eq!((c.returns[1].number, c.returns[1].of), (2, 2));
    // Map coordinates keep their millimetres.
    let c = read(
        "b.xyz",
        b"432100.123 5403200.456 812.789\n432101.124 5403200.457 812.790\n",
    )
    .unwrap();
    assert_eq!(c.origin, [432_100.0, 5_403_200.0, 0.0]);
    assert!((c.xyz[1][0] - 1.124).abs() < 1e-6 && (c.xyz[1][2] - 812.79).abs() < 1e-4);
}

#[test]
fn wrong_text_is_told_with_its_line() {
    for (text, expected) in [
        ("1 2 3\n4 5\n", "line 2: \"4 5\": expected 3 columns, found 2"),
        (
            "1 2 3\n4 five 6\n",
            "line 2: \"4 five 6\": expected a number in column 2",
        ),
        (
            "1 2 3\n\n# c\nnan 5 6\n",
            "line 4: expected finite coordinates, found [NaN, 5.0, 6.0]",
        ),
        ("1 2 3\n4 inf 6\n", "line 2: expected finite coordinates"),
        (
            "5\n1 2 3\n4 5 6\n",
            "line 3: the file ends after 2 points, its count line says 5",
        ),
        (
            "x,y,z,class\n1,2,3,5\n1,2,3,tree\n",
            "line 3: \"1,2,3,tree\": expected a number in column 4",
        ),
        (
            "1 2 three\n4 5 6\n",
            "line 1: \"1 2 three\": expected a number in column 3",
        ),
        (
            "1,x,3\n4,y,6\n",
            "line 1: \"1,x,3\": expected a number in column 2",
        ),
        (
            "hello\nworld\n",
            "expected lines of three numbers or more, found line 1: \"hello\"",
        ),
        ("# only\n", "expected lines of three numbers or more, found none"),
        ("", "is empty"),
    ] {
        let e = told("wrong.txt", text.as_bytes());
        assert!(e.contains("wrong.txt") && e.contains(expected), "{text:?}: {e}");
    }
}

#[test]
fn points_that_are_no_place_are_dropped_where_asked() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.xyz");
    std::fs::write(&path, "1 2 3\nnan 0 0\n4 5 6\n0 inf 0\n").unwrap();
    let options = ReadOptions {
        invalid: Invalid::Drop,
        chunk: 1,
    };
    let (cloud, dropped) = formats::read_with(&path, &options).unwrap();
    assert_eq!((cloud.xyz, dropped), (vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 2));
}

/// A PLY file in which all that is allowed happens: lists before, within and behind the vertices, any order and type.
fn strange_ply(format: &str) -> Vec<u8> {
    let mut b = format!(
        "ply\r\nformat {format} 1.0\r\ncomment a b\r\nobj_info c\r\nelement camera 1\r\nproperty list uchar float view\r\n\
         element vertex 3\r\nproperty uint8 red\r\nproperty double z\r\nproperty list uchar short tags\r\nproperty float x\r\n\
         property float y\r\nproperty float scalar_Intensity\r\nelement face 1\r\nproperty list uchar int vertex_indices\r\nend_header\r\n"
    )
    .into_bytes();
    let big = format.ends_with("big_endian");
    let mut put = |little: &[u8]| {
        let mut v = little.to_vec();
        if big {
            v.reverse();
        }
        b.extend(v);
    };
    put(&[2]);
    put(&1f32.to_le_bytes());
    put(&1f32.to_le_bytes());
    for (i, [x, y, z]) in THREE.into_iter().enumerate() {
        put(&[200]);
        put(&f64::from(z).to_le_bytes());
        put(&[i as u8]);
        (0..i).for_each(|t| put(&(t as i16).to_le_bytes()));
        put(&x.to_le_bytes());
        put(&y.to_le_bytes());
        put(&41.7f32.to_le_bytes());
    }
    b.extend([1, 0, 0, 0, 0]);
    b
}

#[test]
fn ply_of_every_encoding_type_and_order_is_read() {
    for format in ["binary_little_endian", "binary_big_endian"] {
        let c = read("a.ply", &strange_ply(format)).unwrap();
        assert_eq!((c.xyz, c.intensity), (THREE.to_vec(), vec![42; 3]), "{format}");
    }
    let ascii = "ply\nformat ascii 1.0\nelement face 1\nproperty list uchar int v\nelement vertex 3\nproperty float z\n\
        property list int float t\nproperty float x\nproperty double y\nend_header\n3 0 1 2\n-3.25 2 9 9 1.5 2\n6 0 4 5.5\n9.125 1 9 7 8\n";
    assert_eq!(read("a.ply", ascii.as_bytes()).unwrap().xyz, THREE);
}

#[test]
fn ply_with_unusual_names_comments_and_numbers_is_read() {
    let mut bytes = b"ply\nformat ascii 1.0\ncomment B\xe4ume\nelement vertex 3\nproperty float x\nproperty float y\n\
        property float z\nproperty float scalar_Roughness_(0.1)\nproperty float scalar_Intensity\nproperty float scalar_Intensity\n\
        end_header\n"
        .to_vec();
    bytes.extend(b"1.5 2 -3.25 nan 7 9\n4 5.5 6 .5 nan 9\n7 8 9.125 5. 1e1 9\n");
    let c = read("a.ply", &bytes).unwrap();
    assert_eq!((c.xyz, c.intensity), (THREE.to_vec(), vec![7, 0, 10]));
}

#[test]
fn wrong_ply_is_told_with_its_place() {
    let with = |body: &str| format!("ply\nformat ascii 1.0\n{body}");
    let xyz = "property float x\nproperty float y\nproperty float z\nend_header\n";
    for (text, expected) in [
        (
            with("element vertex 3\nproperty flaot x\n"),
            "line 4: \"property flaot x\": expected",
        ),
        (
            with("element vertex many\n"),
            "line 3: \"element vertex many\": expected",
        ),
        (
            with("element face 0\nend_header\n"),
            "expected an element `vertex`, found [\"face\"]",
        ),
        (
            with("element vertex 1\nproperty float x\nend_header\n1\n"),
            "no y",
        ),
        (with("element vertex 2\n"), "expected more of the header"),
        (
            with(&format!("element vertex 1000000000000\n{xyz}1 2 3\n")),
            "vertex 1 of 1000000000000: line 9: expected numbers, found the end",
        ),
        (
            with(&format!("element vertex 2\n{xyz}1 2 3\n1 2 z\n")),
            "line 9: \"1 2 z\": expected a number for z",
        ),
        (
            with(&format!("element vertex 2\n{xyz}1 2 3\n1 nan 3\n")),
            "vertex 1: expected finite coordinates",
        ),
        (
            "ply\nelement vertex 0\nend_header\n".into(),
            "No format line found",
        ),
        (
            with(&format!(
                "element vertex 1\nproperty list uchar int t\n{xyz}0.5 1 2 3\n"
            )),
            "length of list t, found 0.5",
        ),
    ] {
        let e = told("wrong.ply", text.as_bytes());
        assert!(e.contains("wrong.ply") && e.contains(expected), "{e}");
    }
    let whole = strange_ply("binary_little_endian");
    let e = told("cut.ply", &whole[..whole.len() - 8]);
    assert!(e.contains("vertex 2 of 3") && e.contains("truncated"), "{e}");
}

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
            let e = told("bad.laz", &bad);
            assert!(
                e.contains("bad.laz") && e.contains("expected a chunk table"),
                "{behind}: {e}"
            );
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
fn wrong_las_is_told_with_its_place() {
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
        let e = told("wrong.laz", &bytes);
        assert!(
            e.contains("wrong.laz") && e.contains(expected),
            "expected {expected}: {e}"
        );
    }
}

#[test]
fn a_missing_file_and_a_folder_are_told_by_name() {
    let e = format!("{:#}", formats::read(Path::new("nowhere/a.las")).unwrap_err());
    assert!(e.contains("nowhere/a.las") && e.contains("cannot open"), "{e}");
    let home = tempfile::tempdir().unwrap();
    let e = format!("{:#}", formats::read(home.path()).unwrap_err());
    assert!(e.contains("folder"), "{e}");
}
