//! Zips made to do harm, and one that is not.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use crate::assert_contains;
use canopy_data::fetch::unpack;
use tempfile::TempDir;
use zip::{ZipWriter, write::SimpleFileOptions};

fn made(entries: &[(&str, &[u8])]) -> (TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.zip");
    let mut zip = ZipWriter::new(File::create(&path).unwrap());
    for (name, bytes) in entries {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
    let to = dir.path().join("out");
    (dir, path, to)
}

fn run(path: &Path, to: &Path) -> Result<(), String> {
    unpack(path, to, &mut |_, _| Ok(())).map_err(|e| format!("{e:#}"))
}

/// Fails with an error that contains `part`, and leaves nothing but the zip.
#[track_caller]
fn fails((dir, path, to): &(TempDir, PathBuf, PathBuf), part: &str) {
    assert_contains(&run(path, to).unwrap_err(), &[part]);
    clean(dir);
}

/// Only the zip is left.
fn clean(dir: &TempDir) {
    let names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, ["a.zip"]);
}

#[test]
fn files_and_folders_come_out_as_they_went_in() {
    let (_dir, path, to) = made(&[
        ("train/LAS/a.las", b"points"),
        ("train/b ä.csv", b"1,2"),
        ("empty.txt", b""),
    ]);
    run(&path, &to).unwrap();
    assert_eq!(fs::read(to.join("train/LAS/a.las")).unwrap(), b"points");
    assert_eq!(fs::read(to.join("train/b ä.csv")).unwrap(), b"1,2");
    assert!(fs::read(to.join("empty.txt")).unwrap().is_empty());
    assert!(run(&path, &to).unwrap_err().contains("exists already"));
}

#[test]
fn names_that_lead_out_of_the_folder_are_refused() {
    let names = [
        "../evil",
        "a/../../evil",
        "/etc/evil",
        "\\evil",
        "..\\evil",
        "C:\\evil",
        "C:evil",
    ];
    for name in names {
        fails(&made(&[("good", b"1"), (name, b"2")]), "leads out");
    }
}

#[test]
fn links_equal_names_and_bombs_are_refused() {
    let linked = made(&[("good", b"1")]);
    let mut zip = ZipWriter::new(File::create(&linked.1).unwrap());
    zip.add_symlink("link", "/etc/passwd", SimpleFileOptions::default())
        .unwrap();
    zip.finish().unwrap();
    fails(&linked, "is a link");
    // Names that differ in case only.
    fails(
        &made(&[("a/B.las", b"1"), ("A/b.las", b"2")]),
        "is in the zip twice",
    );
    let bomb = made(&[("bomb", &vec![0; 80 << 20])]);
    assert!(fs::metadata(&bomb.1).unwrap().len() < 1 << 20);
    fails(&bomb, "not a data set");
}

#[test]
fn a_lie_about_the_size_is_noticed() {
    let (dir, path, to) = made(&[("file.bin", &[7; 5_000])]);
    let mut bytes = fs::read(&path).unwrap();
    let size = 5_000u32.to_le_bytes();
    let places: Vec<usize> = (0..bytes.len() - 4)
        .filter(|&i| bytes[i..i + 4] == size)
        .collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + 4].copy_from_slice(&100u32.to_le_bytes());
    }
    fs::write(&path, bytes).unwrap();
    assert!(run(&path, &to).is_err());
    clean(&dir);
}

#[test]
fn damaged_and_cut_zips_are_refused_and_nothing_is_left() {
    let bytes: Vec<u8> = (0..20_000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let (dir, path, to) = made(&[("file.bin", &bytes)]);
    let whole = fs::read(&path).unwrap();
    for cut in [0, 1, 30, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).unwrap();
        assert!(run(&path, &to).is_err(), "cut at {cut}");
        clean(&dir);
    }
    let mut flipped = whole;
    flipped[1_000] ^= 1;
    fs::write(&path, flipped).unwrap();
    assert!(run(&path, &to).unwrap_err().contains("damaged"));
    clean(&dir);
}

#[test]
fn a_stop_leaves_nothing() {
    let (dir, path, to) = made(&[("a", b"1"), ("b", b"2")]);
    assert!(unpack(&path, &to, &mut |_, _| anyhow::bail!("stopped")).is_err());
    clean(&dir);
}
