//! Downloads.

use std::{fs, process::Command};

use canopy_data::fetch::{self, download};
use md5::{Digest, Md5};

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
    type Case<'a> = (&'a [u8], &'a [u8], &'a [u8], &'a str);
    let cases: [Case; 9] = [
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
