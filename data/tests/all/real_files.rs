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
        let info = formats::info(path).unwrap();
        let cloud = formats::read(path).unwrap();
        cloud.validate().unwrap();
        assert_eq!(cloud.len() as u64, info.count, "{}", path.display());
        assert_eq!(cloud.class.len(), cloud.len());
        // The header's box, that another program wrote, holds the points.
        let (b, [low, high]) = (cloud.bounds().unwrap(), info.bounds.unwrap());
        for a in 0..3 {
            let (least, most) = (
                f64::from(b.min[a]) + cloud.origin[a],
                f64::from(b.max[a]) + cloud.origin[a],
            );
            assert!(
                least > low[a] - 0.02 && most < high[a] + 0.02,
                "{}: axis {a}: {least} to {most}, where the header says {} to {}",
                path.display(),
                low[a],
                high[a]
            );
        }
        points += info.count;
    }
    println!("{} files, {points} points", files.len());
}
