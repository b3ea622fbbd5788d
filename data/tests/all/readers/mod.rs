//! Files as other programs write them are read, and errors of wrong files name the place.

mod las_files;
mod refused;

use canopy_data::{Cloud, formats};

use crate::{assert_contains, unescaped};

/// The points of several files.
const THREE: [[f32; 3]; 3] = [[1.5, 2.0, -3.25], [4.0, 5.5, 6.0], [7.0, 8.0, 9.125]];

fn read(name: &str, bytes: &[u8]) -> anyhow::Result<Cloud> {
    let home = tempfile::tempdir()?;
    let path = home.path().join(name);
    std::fs::write(&path, bytes)?;
    formats::read(&path)
}

/// The first byte of the points, and of the chunk table.
fn places(laz: &[u8]) -> (usize, usize) {
    let start = u32::from_le_bytes(laz[96..100].try_into().unwrap()) as usize;
    let table = i64::from_le_bytes(laz[start..start + 8].try_into().unwrap());
    (start, table as usize)
}

/// Other bytes at some places.
type Changes<'a> = &'a [(usize, &'a [u8])];

fn changed(bytes: &[u8], changes: Changes) -> Vec<u8> {
    let mut b = bytes.to_vec();
    for (at, with) in changes {
        b[*at..at + with.len()].copy_from_slice(with);
    }
    b
}

/// The rows of a table with `N` columns, which are separated by |. A line that begins with # is a comment.
fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(" | ").collect::<Vec<_>>().try_into().unwrap())
}

#[test]
fn text_of_every_kind_gives_the_same_points() {
    for [name, text] in rows(include_str!("same_points.txt")) {
        let cloud = read(name, &unescaped(text)).unwrap_or_else(|e| panic!("{name}: {e:#}"));
        assert_eq!(cloud.xyz, THREE, "{name}");
        assert_eq!(cloud.origin, [0.0; 3], "{name}");
    }
    // Latin-1 in a comment is no reason to refuse a file.
    let latin = b"# B\xe4ume von Th\xfcringen\n1.5 2 -3.25\n4 5.5 6\n7 8 9.125\n";
    assert_eq!(read("Buche 3 \u{e4}.xyz", latin).unwrap().xyz, THREE);
}

#[test]
fn reads_named_columns_and_ignores_others() {
    let rows = b"R,x,y,z,Classification,reflectance,ReturnNumber,NumberOfReturns\n9,1,2,3,5,12.4,1,2\n9,4,5,6,2,70000,2,2\n";
    let c = read("a.csv", rows).unwrap();
    assert_eq!((c.class, c.intensity), (vec![5, 2], vec![12, 65_535]));
    assert_eq!((c.returns[1].number, c.returns[1].of), (2, 2));
    // Numbers are rounded, and clamped to the range of the attribute.
    let rows = b"//X Y Z Intensity Classification\n1 2 3 -3 300\n1 2 3 7.6 nan\n";
    let c = read("c.txt", rows).unwrap();
    assert_eq!((c.intensity, c.class), (vec![0, 8], vec![255, 0]));
    // Map coordinates keep their millimetres.
    let rows = b"432100.123 5403200.456 812.789\n432101.124 5403200.457 812.790\n";
    let c = read("b.xyz", rows).unwrap();
    assert_eq!(c.origin, [432_100.0, 5_403_200.0, 0.0]);
    assert!((c.xyz[1][0] - 1.124).abs() < 1e-6 && (c.xyz[1][2] - 812.79).abs() < 1e-4);
}
