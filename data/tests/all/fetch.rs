//! Downloads, and zips.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::Command,
    thread,
};

use canopy_data::fetch::{Expect, download, unpack};
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
    let length = Some(LENGTH as u64);
    let other = [1; LENGTH];
    // What is published, the part and the file that exist before, the published length, and the error; none if the right
    // file is there at the end.
    type Case<'a> = (&'a [u8], &'a [u8], &'a [u8], Option<u64>, &'a str);
    let cases: [Case; 10] = [
        (&right, &[], &[], length, ""),
        (&right, &right[..70_000], &[], None, ""),
        // A run that was stopped at the end of the file.
        (&right, &right, &[], None, ""),
        (&right, &[9; LENGTH + 1], &[], length, ""),
        (&right, &[], &right, length, ""),
        (&right, &[], b"mine", length, "exists already"),
        // The part is of another file: once more from the start.
        (&right, &[9; 1_000], &[], None, ""),
        (
            &[&right[..], &[7]].concat(),
            &[],
            &[],
            length,
            "300001 bytes, but",
        ),
        (&other, &[], &[], length, "published is"),
        (&[], &[], &[], length, "curl failed"),
    ];
    for (published, part, file, bytes, expected) in cases {
        let [server, dir] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let (from, to) = (server.path().join("file.bin"), dir.path().join("file.bin"));
        let part_of_to = to.with_added_extension("part");
        for (path, content) in [(&from, published), (&part_of_to, part), (&to, file)] {
            if !content.is_empty() {
                fs::write(path, content).unwrap();
            }
        }
        let url = format!("file://{}", from.display());
        match download(&url, &to, Expect { bytes, md5: &md5 }) {
            Ok(()) => assert!(expected.is_empty() && fs::read(&to).unwrap() == right),
            Err(e) => {
                assert!(!expected.is_empty(), "{e:#}");
                assert_contains(&format!("{e:#}"), &[expected]);
                assert_eq!(fs::read(&to).unwrap_or_default(), file);
            }
        }
        assert!(!part_of_to.exists(), "{expected}");
    }
}

/// A server on this machine that answers each request with the next of its answers: the status and what follows it, and how
/// many bytes of the file from `from` on it sends before it hangs up.
type Answer = (&'static str, usize, usize);

#[test]
fn a_connection_that_breaks_and_a_server_without_ranges_cost_another_attempt() {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("not run, because there is no curl");
        return;
    }
    const ALL: &str = "200 OK\r\nContent-Length: 300000";
    const REST: &str = "206 Partial\r\nContent-Range: bytes 100000-299999/300000\r\nContent-Length: 200000";
    let right = body();
    let md5: String = Md5::digest(&right).iter().map(|b| format!("{b:02x}")).collect();
    let cases: [(&[Answer], usize, &str); 4] = [
        (&[(ALL, 0, 100_000), (REST, 100_000, 200_000)], 0, ""),
        (&[(ALL, 0, LENGTH), (ALL, 0, LENGTH)], 1_000, ""),
        (&[("404 Not Found\r\nContent-Length: 0", 0, 0)], 0, "curl failed"),
        (
            &[("200 OK\r\nContent-Length: 400000", 0, LENGTH)],
            0,
            "curl failed",
        ),
    ];
    for (answers, part, expected) in cases {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/file.bin", listener.local_addr().unwrap());
        let server = thread::spawn({
            let (answers, body) = (answers.to_vec(), right.clone());
            move || {
                for (head, from, sent) in answers {
                    let mut stream = listener.accept().unwrap().0;
                    let lines = BufReader::new(&stream).lines().map(Result::unwrap);
                    assert!(lines.take_while(|line| !line.is_empty()).count() > 0);
                    // The client may hang up first.
                    let _ = write!(stream, "HTTP/1.1 {head}\r\nConnection: close\r\n\r\n");
                    let _ = stream.write_all(&body[from..from + sent]);
                }
            }
        });
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("file.bin");
        if part > 0 {
            fs::write(dir.path().join("file.bin.part"), &right[..part]).unwrap();
        }
        let bytes = Some(LENGTH as u64);
        let result = download(&url, &to, Expect { bytes, md5: &md5 }).map_err(|e| format!("{e:#}"));
        server.join().unwrap();
        match result {
            Ok(()) => assert!(expected.is_empty() && fs::read(&to).unwrap() == right),
            Err(e) => assert!(!expected.is_empty() && e.contains(expected), "{e}"),
        }
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
        (&outside[..], "leads out of the folder"),
        (&whole[..], ""),
    ] {
        fs::write(&path, bytes).unwrap();
        if let Err(e) = unpack(&path, &to, &|_, _| Ok(())) {
            assert_contains(&format!("{e:#}"), &["a.zip", expected]);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }
    for (name, content) in files {
        assert!(fs::read(to.join(name)).unwrap() == content, "{name}");
    }
    let error = unpack(&path, &to, &|_, _| Ok(())).unwrap_err().to_string();
    assert_contains(&error, &["exists already"]);
    let stop = |done, of| match done < 2 && of == 3 {
        true => Ok(()),
        false => Err(anyhow::anyhow!("stopped")),
    };
    let error = unpack(&path, &dir.path().join("more"), &stop).unwrap_err();
    assert_eq!(error.to_string(), "stopped");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}
