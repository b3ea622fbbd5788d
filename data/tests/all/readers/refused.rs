//! Wrong files are refused, and the error names the file, the place, what was expected there and what was found.

use std::path::Path;

use canopy_data::formats;

use super::{las_files::places, read};
use crate::{
    assert_contains,
    made::{las_file, strange_ply},
};

/// Checks that each file of the name is refused with its name and the text beside it.
#[track_caller]
fn refused(name: &str, cases: impl IntoIterator<Item = (impl AsRef<[u8]>, &'static str)>) {
    for (bytes, expected) in cases {
        let error = read(name, bytes.as_ref()).map(|c| c.len()).unwrap_err();
        assert_contains(&format!("{error:#}"), &[name, expected]);
    }
}

#[test]
fn of_another_format() {
    refused("a.laz", [(b"\x89PNG", "expected \"LASF\", found \"\\x89PNG\"")]);
    refused("a.jpeg", [(b"\xff\xd8\xff", "expected LAS")]);
    refused("a.las", [(b"", "the file is empty (0 bytes)")]);
    refused("a.txt", [(b"\0\0", "not a text file")]);
    refused("a.txt", [(b"\xff\xfe1\0 \0", "text in UTF-16: save it as UTF-8")]);
    let home = tempfile::tempdir().unwrap();
    for (path, part) in [
        (home.path(), "folder"),
        (Path::new("nowhere/a.las"), "cannot open"),
    ] {
        let error = format!("{:#}", formats::read(path).unwrap_err());
        assert_contains(&error, &[&path.display().to_string(), part]);
    }
}

#[test]
fn text() {
    let cases = [
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
    ];
    refused("wrong.txt", cases);
}

#[test]
fn ply() {
    let with = |body: &str| format!("ply\nformat ascii 1.0\n{body}");
    let xyz = |before: &str, rows: &str| {
        with(&format!(
            "{before}property float x\nproperty float y\nproperty float z\nend_header\n{rows}"
        ))
    };
    let cases = [
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
            xyz("element vertex 1000000000000\n", "1 2 3\n"),
            "vertex 1 of 1000000000000: line 9: expected numbers, found the end",
        ),
        (
            xyz("element vertex 2\n", "1 2 3\n1 2 z\n"),
            "line 9: \"1 2 z\": expected a number for z",
        ),
        (
            xyz("element vertex 2\n", "1 2 3\n1 nan 3\n"),
            "vertex 1: expected finite coordinates",
        ),
        (
            "ply\nelement vertex 0\nend_header\n".into(),
            "no line says the format",
        ),
        (
            xyz("element vertex 1\nproperty list uchar int t\n", "0.5 1 2 3\n"),
            "length of list t, found 0.5",
        ),
    ];
    refused("wrong.ply", cases);
    let whole = strange_ply("binary_little_endian");
    let cut = &whole[..whole.len() - 8];
    refused("cut.ply", [(cut, "vertex 2 of 3"), (cut, "truncated")]);
}

/// `bytes` with other bytes at some places.
pub fn changed(bytes: &[u8], changes: &[(usize, &[u8])]) -> Vec<u8> {
    let mut b = bytes.to_vec();
    for (at, with) in changes {
        b[*at..at + with.len()].copy_from_slice(with);
    }
    b
}

#[test]
fn las() {
    let (las, _) = las_file(1, (1, 2), false, 1_000);
    let (laz, _) = las_file(7, (1, 4), true, 1_000);
    let (start, table) = places(&laz);
    let (most, zero, infinite) = (
        u32::MAX.to_le_bytes(),
        0f64.to_le_bytes(),
        f64::INFINITY.to_le_bytes(),
    );
    let (far, none) = ((1u64 << 40).to_le_bytes(), (-1i64).to_le_bytes());
    let las_cases: [(&[(usize, &[u8])], _); 7] = [
        (&[(107, &most)], "4294967295 points"),
        (&[(24, &[2])], "expected LAS 1.0 to 1.4, found 2."),
        (&[(96, &most)], "found byte 4294967295"),
        (&[(104, &[11])], "expected a point format from 0 to 10, found 11"),
        (&[(105, &[3, 0])], "expected records of at least"),
        (
            &[(131, &zero)],
            "expected scale factors and offsets in metres, found [0.0, 0.01, 0.001] and [400000.0,",
        ),
        (&[(155, &infinite)], "expected scale factors"),
    ];
    refused(
        "wrong.las",
        las_cases.map(|(changes, expected)| (changed(&las, changes), expected)),
    );
    refused("cut.las", [(&las[..150], "header cannot be read")]);
    refused(
        "cut.las",
        [(&las[..5_000], "the header says 1000 points of 28 bytes")],
    );
    refused("cut.laz", [(&laz[..table], "expected a chunk table")]);
    let laz_cases: [(&[(usize, &[u8])], _); 6] = [
        (&[(107, &[0; 4]), (247, &far)], "the chunk table has"),
        (&[(start, &far)], "found byte 1099511627776"),
        (&[(table + 4, &most)], "found 4294967295"),
        (&[(100, &[0, 0])], "laszip encoded"),
        // As a writer leaves it that was ended before it could go back.
        (
            &[(start, &none), (laz.len() - 8, &[0; 8])],
            "expected a chunk table",
        ),
        // A layer of a chunk.
        (
            &[(start + 48, &most)],
            "chunk 0: byte 483: layers of 4294974923 bytes",
        ),
    ];
    refused(
        "wrong.laz",
        laz_cases.map(|(changes, expected)| (changed(&laz, changes), expected)),
    );
    // Chunk tables begin behind the 8 bytes that say where they are; `laz` would allocate 32 GB.
    for behind in 1..8 {
        let place = ((start + behind) as u64).to_le_bytes();
        let bytes = changed(&laz, &[(start, &place), (start + 8, &[0xff; 8])]);
        refused("wrong.laz", [(bytes, "expected a chunk table")]);
    }
}
