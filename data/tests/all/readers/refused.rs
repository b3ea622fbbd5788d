//! Wrong files are refused, and the error names the file, the place, what was expected there and what was found.

use std::path::Path;

use canopy_data::formats;

use super::{Changes, changed, places, read, rows};
use crate::{assert_contains, made::las_file, unescaped};

/// Checks that each file of the name is refused with its name and the text beside it.
#[track_caller]
fn refused<'a>(name: &str, cases: impl IntoIterator<Item = (impl AsRef<[u8]>, &'a str)>) {
    for (bytes, expected) in cases {
        let error = read(name, bytes.as_ref()).map(|c| c.len()).unwrap_err();
        assert_contains(&format!("{error:#}"), &[name, expected]);
    }
}

#[test]
fn of_another_format() {
    refused("a.laz", [(b"\x89PNG", "expected \"LASF\", found \"\\x89PNG\"")]);
    refused("shard.safetensors", [(b"\x60\0\0\0\0\0\0\0{", "give the folder")]);
    refused("a.jpeg", [(b"\xff\xd8\xff", "expected LAS")]);
    refused(
        "a.ply",
        [(
            b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 3\n",
            "expected LAS, LAZ, COPC, or lines of x y z",
        )],
    );
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
    for [name, content, expected] in rows(include_str!("refused.txt")) {
        refused(name, [(unescaped(content), expected)]);
    }
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
    let las_cases: [(Changes, _); 7] = [
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
    let laz_cases: [(Changes, _); 6] = [
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
