//! Files of other programs, if there are any: every one is read.

use std::path::{Path, PathBuf};

use canopy_data::formats::{self, Format};

use crate::real_data;

fn point_clouds(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            point_clouds(&path, into);
        } else if matches!(Format::from_path(&path), Some(Format::Las | Format::Laz)) {
            into.push(path);
        }
    }
}

#[test]
fn every_real_file_is_read_as_its_header_says() {
    let Some(dir) = real_data("") else { return };
    let mut files = Vec::new();
    point_clouds(&dir, &mut files);
    assert!(!files.is_empty(), "{} holds no LAS or LAZ file", dir.display());
    let mut points = 0;
    for path in &files {
        let info = formats::check(path).unwrap();
        // The header's number of points and box, which another program wrote, are those of the points.
        assert_eq!(
            info.count,
            formats::info(path).unwrap().count,
            "{}",
            path.display()
        );
        assert_eq!(info.warnings, [""; 0], "{}", path.display());
        points += info.count;
    }
    println!("{} files, {points} points", files.len());
}
