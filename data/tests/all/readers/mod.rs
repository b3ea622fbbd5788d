//! Files as other programs write them are read, and errors of wrong files name the place.

mod las_files;

use std::{io::Cursor, path::Path};

use canopy_data::{
    Cloud, Philox,
    formats::{self, Invalid},
};

use crate::{
    assert_contains,
    made::{THREE, strange_ply},
};

fn read(name: &str, bytes: &[u8]) -> anyhow::Result<Cloud> {
    let home = tempfile::tempdir()?;
    let path = home.path().join(name);
    std::fs::write(&path, bytes)?;
    formats::read(&path)
}

fn message(name: &str, bytes: &[u8]) -> String {
    format!("{:#}", read(name, bytes).map(|c| c.len()).unwrap_err())
}

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
        ("quoted.csv", "\"1.5\",\"2\",\"-3.25\"\n4,5.5,6\n7,8,9.125\n"),
        ("mixed.csv", "1.5, 2 -3.25\n4, 5.5 6\n7, 8 9.125\n"),
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
fn reads_named_columns_and_ignores_others() {
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
fn errors_in_text_name_the_line() {
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
        let e = message("wrong.txt", text.as_bytes());
        assert_contains(&e, &["wrong.txt", expected]);
    }
}

#[test]
fn drops_points_with_non_finite_coordinates_on_request() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.xyz");
    std::fs::write(&path, "1 2 3\nnan 0 0\n4 5 6\n0 inf 0\n").unwrap();
    let mut reader = formats::open_with(&path, Invalid::Drop).unwrap();
    assert_eq!(reader.read_all().unwrap().xyz, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(reader.dropped(), 2);
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
fn errors_in_ply_name_the_place() {
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
            "no line says the format",
        ),
        (
            with(&format!(
                "element vertex 1\nproperty list uchar int t\n{xyz}0.5 1 2 3\n"
            )),
            "length of list t, found 0.5",
        ),
    ] {
        let e = message("wrong.ply", text.as_bytes());
        assert_contains(&e, &["wrong.ply", expected]);
    }
    let whole = strange_ply("binary_little_endian");
    let e = message("cut.ply", &whole[..whole.len() - 8]);
    assert_contains(&e, &["vertex 2 of 3", "truncated"]);
}

#[test]
fn errors_name_a_missing_file_and_a_folder() {
    let e = format!("{:#}", formats::read(Path::new("nowhere/a.las")).unwrap_err());
    assert_contains(&e, &["nowhere/a.las", "cannot open"]);
    let home = tempfile::tempdir().unwrap();
    let e = format!("{:#}", formats::read(home.path()).unwrap_err());
    assert_contains(&e, &["folder"]);
}
