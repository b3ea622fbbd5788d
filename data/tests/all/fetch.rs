//! Downloads.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::Command,
    thread,
};

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

#[test]
fn a_part_outlives_a_broken_connection_and_the_next_run_resumes_it() {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("not run, because there is no curl");
        return;
    }
    let (right, dir) = (body(), tempfile::tempdir().unwrap());
    let md5: String = Md5::digest(&right).iter().map(|b| format!("{b:02x}")).collect();
    let file = fetch::File {
        name: "file.bin",
        url: None,
        bytes: None,
        md5: md5.leak(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/file.bin", listener.local_addr().unwrap());
    let (to, sent) = (dir.path().join("file.bin"), right.clone());
    let server = thread::spawn(move || {
        let rest = "206 Partial\r\nContent-Range: bytes 100000-299999/300000\r\nContent-Length: 200000";
        for (head, part) in [
            ("200 OK\r\nContent-Length: 300000", 0..100_000),
            (rest, 100_000..LENGTH),
        ] {
            let mut stream = listener.accept().unwrap().0;
            let lines = BufReader::new(&stream).lines().map(Result::unwrap);
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            // curl may have closed the connection.
            let _ = write!(stream, "HTTP/1.1 {head}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(&sent[part]);
        }
    });
    let error = format!("{:#}", download(&url, &to, &file).unwrap_err());
    assert_contains(&error, &["curl failed"]);
    assert_eq!(
        fs::metadata(to.with_added_extension("part")).unwrap().len(),
        100_000
    );
    download(&url, &to, &file).unwrap();
    server.join().unwrap();
    assert!(fs::read(&to).unwrap() == right);
}
