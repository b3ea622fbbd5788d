//! Downloads, and zips.

use std::{
    fs::{self, File},
    io::Write,
    process::Command,
};

use canopy_data::fetch::{self, download, unpack};
use md5::{Digest, Md5};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::assert_contains;

const LENGTH: usize = 300_000;

fn body() -> Vec<u8> {
    let byte = |i: u32| (i.wrapping_mul(i) >> 7) as u8;
    (0..LENGTH as u32).map(byte).collect()
}

/// curl reads the published file from this disk.
#[test]
fn a_file_is_downloaded_resumed_and_verified_or_an_error_says_why_not() {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("not run, because there is no curl");
        return;
    }
    let right = body();
    let md5: String = Md5::digest(&right).iter().map(|b| format!("{b:02x}")).collect();
    let expected = fetch::File {
        name: "file.bin",
        url: None,
        bytes: Some(LENGTH as u64),
        md5: md5.leak(),
    };
    let longer = [&right[..], &[7]].concat();
    // What is published, the part and the file that exist before, and the error; none if the right file is there at the end.
    let cases: [(&[u8], &[u8], &[u8], &str); 9] = [
        (&right, &[], &[], ""),
        (&right, &right[..70_000], &[], ""),
        // A run that was stopped at the end of the file.
        (&right, &right, &[], ""),
        (&right, &[], &right, ""),
        (&right, &[], b"mine", "exists already"),
        // The part is of another file.
        (&right, &[9; 1_000], &[], "published is"),
        (&longer, &[], &[], "300001 bytes, but"),
        (&[1; LENGTH], &[], &[], "published is"),
        (&[], &[], &[], "curl failed"),
    ];
    for (published, part, file, error) in cases {
        let [server, dir] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (from, to) = (server.path().join("file.bin"), dir.path().join("file.bin"));
        let part_of_to = to.with_added_extension("part");
        for (path, content) in [(&from, published), (&part_of_to, part), (&to, file)] {
            if !content.is_empty() {
                fs::write(path, content).unwrap();
            }
        }
        let url = format!("file://{}", from.display());
        match download(&url, &to, &expected) {
            Ok(()) => assert!(error.is_empty() && fs::read(&to).unwrap() == right),
            Err(e) => {
                assert!(!error.is_empty(), "{e:#}");
                assert_contains(&format!("{e:#}"), &[error]);
                assert_eq!(fs::read(&to).unwrap_or_default(), file);
            }
        }
        assert!(!part_of_to.exists(), "{error}");
    }
}

#[test]
fn a_zip_comes_out_as_it_went_in_or_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (path, to) = (dir.path().join("a.zip"), dir.path().join("out"));
    let big = body();
    let zipped = |entries: &[(&str, &[u8])]| {
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        for (name, bytes) in entries {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
        fs::read(&path).unwrap()
    };
    let outside = zipped(&[("good", b"1"), ("../evil", b"2")]);
    let files: [(&str, &[u8]); 3] = [
        ("train/LAS/a.las", b"points"),
        ("train/b ä.csv", &big),
        ("none", b""),
    ];
    let whole = zipped(&files);
    let mut damaged = whole.clone();
    damaged[1_000] ^= 1;
    for (bytes, expected) in [
        (&whole[..whole.len() / 2], "truncated"),
        (&damaged[..], "damaged"),
        (&outside[..], "a.zip"),
        (&whole[..], ""),
    ] {
        fs::write(&path, bytes).unwrap();
        if let Err(e) = unpack(&path, &to) {
            assert_contains(&format!("{e:#}"), &["a.zip", expected]);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }
    for (name, content) in files {
        assert!(fs::read(to.join(name)).unwrap() == content, "{name}");
    }
    let error = unpack(&path, &to).unwrap_err().to_string();
    assert_contains(&error, &["exists already"]);
}
