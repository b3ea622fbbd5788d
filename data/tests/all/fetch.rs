//! Downloads from a server on this machine that behaves as badly as servers do, and zips.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use canopy_data::fetch::{Expect, download, unpack};
use md5::{Digest, Md5};
use tempfile::TempDir;
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::assert_contains;

/// What the server does with one request.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Sends what is requested, with 206 for a range.
    Serve,
    /// Ignores the range: everything, with 200.
    Whole,
    /// Announces all, sends so many bytes, and hangs up.
    BreakAfter(usize),
    /// Sends so many bytes more than the file has.
    Longer(usize),
    /// Sends other bytes of the same length.
    Other,
    /// Answers 404.
    Missing,
}

const LENGTH: usize = 300_000;

fn body() -> Vec<u8> {
    (0..LENGTH as u32)
        .map(|i| (i.wrapping_mul(i) >> 7) as u8)
        .collect()
}

fn md5(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// A server of one file, and the folder that it is downloaded to.
struct Trial {
    url: String,
    /// The first byte of each range that was requested.
    ranges: Arc<Mutex<Vec<usize>>>,
    dir: TempDir,
    to: PathBuf,
}

/// A server that does `acts` one after another, and then the last one again and again. `None` without curl.
fn trial(acts: &[Act]) -> Option<Trial> {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("not run, because there is no curl");
        return None;
    }
    let acts = acts.to_vec();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let ranges = Arc::new(Mutex::new(Vec::new()));
    let trial = Trial {
        url: format!("http://{}/file.bin", listener.local_addr().unwrap()),
        ranges: ranges.clone(),
        to: dir.path().join("file.bin"),
        dir,
    };
    thread::spawn(move || {
        for (i, stream) in listener.incoming().enumerate() {
            let stream = stream.unwrap();
            let from = range_start(&stream);
            ranges.lock().unwrap().push(from);
            // The client may hang up first.
            let _ = answer(stream, acts[i.min(acts.len() - 1)], from);
        }
    });
    Some(trial)
}

/// The first byte that the request asks for.
fn range_start(stream: &TcpStream) -> usize {
    let lines = BufReader::new(stream).lines().map(|l| l.unwrap().to_lowercase());
    let lines: Vec<String> = lines.take_while(|l| !l.is_empty()).collect();
    let from = lines.iter().find_map(|l| l.strip_prefix("range: bytes="));
    from.map_or(0, |from| from.trim_end_matches('-').parse().unwrap())
}

fn answer(mut stream: TcpStream, act: Act, from: usize) -> std::io::Result<()> {
    let all = match act {
        Act::Longer(more) => [body(), vec![7; more]].concat(),
        Act::Other => vec![1; LENGTH],
        _ => body(),
    };
    let (n, last) = (all.len(), all.len() - 1);
    let (from, end) = match act {
        Act::Whole => (0, n),
        Act::BreakAfter(bytes) => (from, from + bytes),
        _ => (from, n),
    };
    let length = format!("Content-Length: {}", n - from);
    let head = match (act, from) {
        (Act::Missing, _) => "404 Not Found\r\nContent-Length: 0".into(),
        (_, 0) => format!("200 OK\r\n{length}"),
        _ => format!("206 Partial\r\nContent-Range: bytes {from}-{last}/{n}\r\n{length}"),
    };
    write!(stream, "HTTP/1.1 {head}\r\nConnection: close\r\n\r\n")?;
    if !matches!(act, Act::Missing) {
        stream.write_all(&all[from..end])?;
    }
    Ok(())
}

impl Trial {
    fn run(&self, bytes: Option<u64>) -> Result<(), String> {
        let md5 = md5(&body());
        let expect = Expect { bytes, md5: &md5 };
        download(&self.url, &self.to, expect, &mut |_, _| Ok(())).map_err(|e| format!("{e:#}"))
    }

    fn part(&self) -> PathBuf {
        self.dir.path().join("file.bin.part")
    }

    fn ranges(&self) -> Vec<usize> {
        self.ranges.lock().unwrap().clone()
    }

    /// There is the right file, and no other.
    #[track_caller]
    fn whole(&self) {
        assert!(fs::read(&self.to).unwrap() == body());
        assert_eq!(fs::read_dir(self.dir.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_download_is_resumed_or_starts_again() {
    let broken = Act::BreakAfter(100_000);
    let cases: [(&[Act], usize, &[usize]); 5] = [
        (
            &[broken, Act::BreakAfter(50_000), Act::Serve],
            0,
            &[0, 100_000, 150_000],
        ),
        // A server without ranges.
        (&[broken, Act::Whole], 0, &[0, 100_000, 0]),
        // The part of an earlier run; one of another file, which the checksum finds; one that is too long.
        (&[Act::Serve], 70_000, &[70_000]),
        (&[Act::Serve], 1_000, &[1_000, 0]),
        (&[Act::Serve], 400_000, &[0]),
    ];
    for (acts, part, ranges) in cases {
        let Some(t) = trial(acts) else { return };
        if part == 70_000 {
            fs::write(t.part(), &body()[..part]).unwrap();
        } else if part > 0 {
            fs::write(t.part(), vec![9; part]).unwrap();
        }
        for _ in 0..2 {
            // The second run requests nothing.
            t.run(Some(LENGTH as u64)).unwrap();
            t.whole();
            assert_eq!(t.ranges(), ranges, "{acts:?}");
        }
    }
}

#[test]
fn a_server_without_the_published_file_is_refused() {
    let length = Some(LENGTH as u64);
    for (act, bytes, expected) in [
        (Act::Missing, length, "404"),
        (Act::BreakAfter(0), length, "run the command again to resume"),
        (Act::Longer(10), length, "(63)"),
        (Act::Longer(10), None, "published is"),
        (Act::Other, length, "published is"),
    ] {
        let Some(t) = trial(&[act]) else { return };
        let error = t.run(bytes).unwrap_err();
        assert_contains(&error, &[expected]);
        assert!(!t.to.exists(), "{act:?}");
        let part = fs::metadata(t.part()).map_or(0, |m| m.len());
        assert_eq!(part, 0, "{act:?}");
    }
    let Some(t) = trial(&[Act::Serve]) else { return };
    fs::write(&t.to, "mine").unwrap();
    assert_contains(&t.run(None).unwrap_err(), &["exists already"]);
    assert_eq!(fs::read(&t.to).unwrap(), b"mine");
    assert!(t.ranges().is_empty());
}

#[test]
fn a_stop_leaves_nothing_under_the_name() {
    let Some(t) = trial(&[Act::BreakAfter(70_000), Act::Serve]) else {
        return;
    };
    let (bytes, md5) = (None, &md5(&body()));
    let expect = Expect { bytes, md5 };
    let stop = &mut |now, _| {
        anyhow::ensure!(now == 0, "stopped");
        Ok(())
    };
    assert!(download(&t.url, &t.to, expect, stop).is_err());
    assert!(!t.to.exists() && t.part().exists());
    t.run(None).unwrap();
    t.whole();
}

/// A zip of `entries`, and the folder to unpack it to.
fn zipped(entries: &[(&str, &[u8])]) -> (TempDir, PathBuf, PathBuf) {
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

fn unzip(path: &Path, to: &Path) -> Result<(), String> {
    unpack(path, to, &mut |_, _| Ok(())).map_err(|e| format!("{e:#}"))
}

#[test]
fn files_and_folders_come_out_as_they_went_in() {
    let (_dir, path, to) = zipped(&[
        ("train/LAS/a.las", b"points"),
        ("train/b ä.csv", b"1,2"),
        ("empty.txt", b""),
    ]);
    unzip(&path, &to).unwrap();
    assert_eq!(fs::read(to.join("train/LAS/a.las")).unwrap(), b"points");
    assert_eq!(fs::read(to.join("train/b ä.csv")).unwrap(), b"1,2");
    assert!(fs::read(to.join("empty.txt")).unwrap().is_empty());
    assert_contains(&unzip(&path, &to).unwrap_err(), &["exists already"]);
}

#[test]
fn a_zip_that_cannot_be_unpacked_leaves_nothing() {
    let (dir, path, to) = zipped(&[("good", b"1"), ("file.bin", &body())]);
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[1_000] ^= 1;
    let outside = fs::read(zipped(&[("good", b"1"), ("../evil", b"2")]).1).unwrap();
    for (bytes, expected) in [
        (&whole[..whole.len() / 2], "truncated"),
        (&damaged[..], "damaged"),
        (&outside[..], "leads out of the folder"),
    ] {
        fs::write(&path, bytes).unwrap();
        assert_contains(&unzip(&path, &to).unwrap_err(), &["a.zip", expected]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
    fs::write(&path, &whole).unwrap();
    assert!(unpack(&path, &to, &mut |_, _| anyhow::bail!("stopped")).is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}
